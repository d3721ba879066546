"""The collectives of a rank and the work before each, as columns: objects are made when asked for.

Trade-off: an object a collective is quicker to look at, but takes ten times the memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import overload

from yantra.tracing.inspect.repeated import Repeated
from yantra.tracing.why.rank import Call

Worked = dict[tuple[str, str], int]
"""Nanoseconds by part and name."""


class Calls(Sequence[Call]):
    def __init__(self, calls: Sequence[Call]) -> None:
        self._places = Repeated((one.group, one.order) for one in calls)
        self._sizes = Repeated((one.kind, one.bytes) for one in calls)
        self._spans = [array("q", side) for side in zip(*(one[4:6] for one in calls), strict=True)]
        self._names = Repeated((one.kernel, one.operator) for one in calls)

    def __len__(self) -> int:
        return len(self._sizes)

    @overload
    def __getitem__(self, at: int) -> Call: ...
    @overload
    def __getitem__(self, at: slice) -> list[Call]: ...
    def __getitem__(self, at: int | slice) -> Call | list[Call]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        start, end = (side[at] for side in self._spans) if self._spans else (0, 0)
        return Call(*self._places[at], *self._sizes[at], start, end, *self._names[at])

    def size(self, at: int) -> tuple[str, int]:
        """The kind and bytes of a call."""
        return self._sizes[at]


class Before(Sequence[Worked]):
    def __init__(self, work: Sequence[Worked]) -> None:
        self._begin = array("I", [0])
        for one in work:
            self._begin.append(self._begin[-1] + len(one))
        self._keys = Repeated(key for one in work for key in one)
        self._ns = array("q", (ns for one in work for ns in one.values()))

    def __len__(self) -> int:
        return len(self._begin) - 1

    @overload
    def __getitem__(self, at: int) -> Worked: ...
    @overload
    def __getitem__(self, at: slice) -> list[Worked]: ...
    def __getitem__(self, at: int | slice) -> Worked | list[Worked]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        if not 0 <= at < len(self):
            raise IndexError(at)
        rows = range(self._begin[at], self._begin[at + 1])
        return {self._keys[row]: self._ns[row] for row in rows}
