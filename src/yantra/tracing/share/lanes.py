"""A thread or stream as a line of work, which can be cut anywhere.

A place on a lane is the work done before it, in ns of a run: waiting takes no place. Trade-off: a
piece of a lane has the lane's mean operations and bytes, not those of its nodes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

COMMUNICATION, DELAY = 8, 9
"""Kinds that stay where they are: kernels of communication whose size is unknown, and time that
nothing explains. Others are by operations a byte.
"""


class Work(NamedTuple):
    """A computation on a lane: when it ran, in ns, and what it did.

    `kind` tells computations apart whose sums would not take as long as they do.
    """

    start: float
    end: float
    kind: int
    duration_ns: int
    operations: int
    moved: int

    @property
    def length(self) -> float:
        return max(self.end - self.start, 0.0)


class Amount(NamedTuple):
    """Work of one kind in a piece."""

    kind: int
    duration_ns: int
    operations: int
    moved: int


class Lane:
    """Works in order of their start; `at[i]` is the place where work i begins.

    Operations and bytes of each kind are spread evenly over the time of the works that do not stay
    where they are, or they would tell layers apart.
    """

    def __init__(self, works: Iterable[Work]) -> None:
        self.works = sorted(works, key=lambda work: (work.start, work.end))
        self.at = [0.0, *accumulate(work.length for work in self.works)]
        self.length = self.at[-1]
        self._staying = {
            kind: [0, *accumulate(w.duration_ns * (w.kind == kind) for w in self.works)]
            for kind in (COMMUNICATION, DELAY)
        }
        busy = [work.length * (work.kind not in self._staying) for work in self.works]
        self._busy = [0.0, *accumulate(busy if any(busy) else (1.0 for _ in self.works))]
        self._totals: dict[int, Amount] = {}
        for work in self.works:
            if work.kind not in self._staying:
                known = self._totals.get(work.kind, Amount(work.kind, 0, 0, 0))
                sums = (a + b for a, b in zip(known[1:], work[3:], strict=True))
                self._totals[work.kind] = Amount(work.kind, *sums)

    def place(self, time: float) -> float:
        """The work done at a time."""
        index = bisect_right(self.works, time, key=lambda work: work.start) - 1
        if index < 0:
            return 0.0
        work = self.works[index]
        return self.at[index] + min(max(time - work.start, 0.0), work.length)

    def begins(self, place: float) -> float:
        """When the work after a place begins."""
        index = min(bisect_right(self.at, place), len(self.works)) - 1
        if index < 0:
            return 0.0
        work = self.works[index]
        return work.start + min(max(place - self.at[index], 0.0), work.length)

    def ends(self, place: float) -> float:
        """When the work before a place has ended."""
        index = min(max(bisect_left(self.at, place) - 1, 0), len(self.works) - 1)
        if index < 0:
            return 0.0
        work = self.works[index]
        return work.start + min(max(place - self.at[index], 0.0), work.length)

    def between(self, first: float, last: float) -> list[Amount]:
        """What is done between two places, delays last; the sums of neighbours are exact."""
        before, after = (self._share(place) for place in (first, last))
        amounts = []
        for kind, total in sorted(self._totals.items()):
            done = [round(each * after) - round(each * before) for each in total[1:]]
            if any(done):
                amounts.append(Amount(kind, *done))
        for kind, sums in self._staying.items():
            took = round(self._sum(sums, last)) - round(self._sum(sums, first))
            amounts += [Amount(kind, took, 0, 0)] if took else []
        return amounts

    def _share(self, place: float) -> float:
        return self._sum(self._busy, place) / (self._busy[-1] or 1.0)

    def _sum(self, sums: Sequence[float], place: float) -> float:
        if place >= self.length:
            return sums[-1]
        index = max(bisect_right(self.at, place) - 1, 0)
        share = (place - self.at[index]) / (self.works[index].length or 1.0)
        return sums[index] + (sums[index + 1] - sums[index]) * share


def disjoint(spans: list[tuple[float, float]]) -> list[int]:
    """For each span the first of several lines on which it overlaps none."""
    free: list[float] = []
    line = [0] * len(spans)
    for index in sorted(range(len(spans)), key=spans.__getitem__):
        start, end = spans[index]
        chosen = next((at for at, until in enumerate(free) if until <= start), len(free))
        if chosen == len(free):
            free.append(end)
        free[chosen] = end
        line[index] = chosen
    return line
