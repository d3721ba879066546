"""Whole numbers of many cases at once, for code that is written for the numbers of one.

Arithmetic goes case by case, so a graph of operators that is built once has the sizes of many
plans. Where the code asks for the truth or the value of a number, all cases must agree; where they
do not, their code may differ, and `DifferError` says which go together.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class DifferError(Exception):
    """Cases of which one condition holds for some and not for others."""

    def __init__(self, holds: np.ndarray) -> None:
        """Tell them apart by where it `holds`."""
        super().__init__("cases differ")
        self.holds = holds


class Cases(np.ndarray[Any, Any]):
    """A number of each case; `of` makes one."""

    @staticmethod
    def of(numbers: Any) -> Cases:
        """Return whole numbers, one of each case."""
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

    # `x *= 2` must leave alone the others that have x, as it does for a number.
    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        return self + other

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        return self - other

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        return self * other

    def __ifloordiv__(self, other: Any) -> Any:  # type: ignore[misc]
        return self // other
