"""Ctrl-C and SIGTERM in commands that keep rows: never within one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held() -> Iterator[None]:
    """Delay interruptions to the block's end.

    Only the main thread gets them.
    """
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    with suppress(ValueError):
        for number in _ENDS:
            before[number] = signal.signal(
                number, lambda *signal_and_frame: came.append(signal_and_frame)
            )
    try:
        yield
    finally:
        for held_signal, handler in before.items():
            signal.signal(held_signal, handler)
    for sent, frame in came[:1]:
        if callable(before[sent]):
            before[sent](sent, frame)
        else:
            os.kill(os.getpid(), sent)
