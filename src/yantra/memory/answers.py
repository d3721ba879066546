"""What a memory model answers, checked: one place for built-in models and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.base.columns import not_a_duration
from yantra.base.errors import ConfigError
from yantra.base.plugin_files import what_was_raised
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
        raise ConfigError(where, f"{name} failed: {what_was_raised(error)}") from error
    if ns.shape != (len(accesses),):
        problem = f"{name}: expected {len(accesses)} durations, one a row, got {ns.shape}"
        raise ConfigError(where, problem)
    wrong = not_a_duration(ns)
    if wrong:
        raise ConfigError(where, f"{name}: {accesses.describe(wrong.row)}: {wrong.problem}")
    return ns
