"""Different values and quantiles of a column, as numpy's, which imports masked arrays first.

Trade-off: one dimension, and no NaN. That is what small runs ask for, of whose processor time that
import takes a thirtieth.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
T = TypeVar("T", bound=np.generic)


def distinct(values: NDArray[T]) -> NDArray[T]:
    """Return the values that differ, rising."""
    ordered = np.sort(values.reshape(-1))
    return ordered[_first_of_each(ordered)]


def middle(values: Column) -> float:
    """Return the median of numbers, of an even number the mean of the two in the middle."""
    ordered = np.sort(values.reshape(-1))
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2.0)


def places(values: Column) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each of the different values is first, rising, and which of them a row has."""
    order = np.argsort(values, kind="stable")
    is_first = _first_of_each(values[order])
    which = np.empty(len(values), np.intp)
    which[order] = np.cumsum(is_first) - 1
    return order[is_first], which


def quantile(values: Column, share: float) -> float:
    """Return the value that a share of all are below, between two of them in proportion."""
    ordered = np.sort(values.reshape(-1))
    at = share * (len(ordered) - 1)
    low = min(int(at), len(ordered) - 2) if len(ordered) > 1 else 0
    start, end = float(ordered[low]), float(ordered[min(low + 1, len(ordered) - 1)])
    part, apart = at - low, end - start
    return start + apart * part if part < 0.5 else end - apart * (1.0 - part)


def _first_of_each(ordered: Column) -> NDArray[np.bool_]:
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first
