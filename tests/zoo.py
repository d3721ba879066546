"""Zoos: some of each by default, all of it where slow tests run, too; and laws that are costly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")
USUAL_EXAMPLES = 30

MODELS = (
    "bert-base",
    "deepseek-v2-lite",
    "dit-xl/2",
    "dlrm",
    "gpt3-1.3b",
    "llama3-8b",
    "mamba2-2.7b",
    "mixtral-8x7b",
    "resnet-50",
    "vit-b/16",
)
"""One of each kind."""


def some(
    every: Iterable[T],
    by_default: Callable[[T], bool] = MODELS.__contains__,
    name: Callable[[T], str] | None = None,
) -> list[Any]:
    """All as parameters, of which those that are not `by_default` are slow."""
    return [
        pytest.param(one, id=name and name(one), marks=() if by_default(one) else pytest.mark.slow)
        for one in every
    ]


def drawn(count: int) -> settings:
    """So many examples of a costly law; `make explore` draws as many times more as of others."""
    return settings(max_examples=count * settings.default.max_examples // USUAL_EXAMPLES)
