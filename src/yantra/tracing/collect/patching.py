"""Replaces a PyTorch method during a collection; always restores it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any


def patch(undo: ExitStack, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*rest: Any, **named: Any) -> Any:
        return wrapper(original, *rest, **named)

    setattr(owner, name, wrapped)
    undo.callback(setattr, owner, name, original)
