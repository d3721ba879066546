"""Integers of many cases at once, for code written for the numbers of one.

A graph of operators built once thus has the sizes of many plans. If code asks for a number's truth
or value, all cases must agree; else `DifferError` says which go together.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class DifferError(Exception):
    """Cases for which a condition differs."""

    def __init__(self, holds: np.ndarray) -> None:
        super().__init__("cases differ")
        self.holds = holds


class Cases(np.ndarray[Any, Any]):
    """A number of each case."""

    @staticmethod
    def of(numbers: Any) -> Cases:
        return np.array(numbers, np.int64).view(Cases)

    def __bool__(self) -> bool:
        count = np.count_nonzero(self)
        if 0 < count < len(self):
            raise DifferError(np.asarray(self) != 0)
        return bool(count)

    def __index__(self) -> int:
        return int(self)

    def __int__(self) -> int:
        return int(self._one())

    def __float__(self) -> float:
        return float(self._one())

    def _one(self) -> Any:
        numbers = np.asarray(self)
        alike = numbers == numbers[0]
        if not alike.all():
            raise DifferError(alike)
        return numbers[0]

    def __ceil__(self) -> Cases:
        return Cases.of(np.ceil(np.asarray(self)))

    def __round__(self, digits: int | None = None) -> Any:
        found = np.round(np.asarray(self), digits or 0)
        return Cases.of(found) if digits is None else found.view(Cases)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self.tobytes())

    # `x *= 2` must leave other references to x alone, as for a number.
    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return self + other

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return self - other

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        return self * other

    def __ifloordiv__(self, other: Any) -> Any:  # type: ignore[misc]
        return self // other
