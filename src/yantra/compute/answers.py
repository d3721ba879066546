"""What a model answers, checked."""

from __future__ import annotations

import numpy as np

from yantra.base.columns import not_a_duration
from yantra.base.errors import ConfigError, YantraError
from yantra.base.plugin_files import what_was_raised
from yantra.compute.model import ComputeModel, Device, Estimates, Kernels


def ask(
    model: ComputeModel, kernels: Kernels, device: Device, name: str, where: str = "compute model"
) -> Estimates:
    """Checked estimates of a model, as columns of float64.

    Raises ConfigError at `where` with the model's `name` and the row.
    """
    try:
        with np.errstate(all="ignore"):
            answer = model.estimate(kernels, device)
        columns = [np.ascontiguousarray(column, np.float64) for column in answer]
    except ConfigError as error:
        raise ConfigError(where, f"{name}: {error.problem}") from error
    except YantraError:
        raise
    except Exception as error:
        raise ConfigError(where, f"{name} failed: {what_was_raised(error)}") from error
    wrong = fault(kernels, columns)
    if wrong:
        raise ConfigError(where, f"{name}: {wrong}")
    return Estimates(*columns)


def fault(kernels: Kernels, columns: list[np.ndarray]) -> str | None:
    if len(columns) != len(Estimates._fields):
        return f"expected low, middle and high, got {len(columns)} columns"
    for name, column in zip(Estimates._fields, columns, strict=True):
        if column.shape != (len(kernels),):
            return f"expected {len(kernels)} durations, one a row, got {column.shape} for {name}"
        wrong = not_a_duration(column, name)
        if wrong:
            return f"{kernels.describe(wrong.row)}: {wrong.problem}"
    low, middle, high = columns
    unordered = (low > middle) | (middle > high)
    if unordered.any():
        row = int(unordered.argmax())
        got = f"{low[row]:g}, {middle[row]:g}, {high[row]:g} ns"
        return f"{kernels.describe(row)}: expected low <= middle <= high; got {got}"
    return None
