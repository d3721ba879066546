"""What a memory model answers, checked: one place for built-in models and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.base.errors import ConfigError
from yantra.memory.model import Accesses, MemoryModel, Speeds

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ask(
    model: MemoryModel, accesses: Accesses, speeds: Speeds, name: str, where: str = "memory model"
) -> NDArray[np.float64]:
    """Return how long accesses take by a model, in nanoseconds as a column of float64.

    Raises ConfigError at `where` with the model's `name` and the row, where the answer is none.
    """
    try:
        with np.errstate(all="ignore"):
            ns = np.ascontiguousarray(model.access(accesses, speeds), np.float64)
    except Exception as error:
        raise ConfigError(where, f"{name} failed: {type(error).__name__}: {error}") from error
    if ns.shape != (len(accesses),):
        problem = f"{name}: expected {len(accesses)} durations, one a row, got {ns.shape}"
        raise ConfigError(where, problem)
    wrong = ~np.isfinite(ns) | (ns < 0)
    if wrong.any():
        row = int(wrong.argmax())
        problem = f"expected a finite duration from 0 up; it is {ns[row]:g} ns"
        raise ConfigError(where, f"{name}: {accesses.describe(row)}: {problem}")
    return ns
