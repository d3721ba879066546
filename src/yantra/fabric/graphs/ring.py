"""Ring: each rank has a cable to the next and to the previous one.

Two cables per rank, n / 2 hops and a bisection of two cables.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 5.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import LINKS, Builder, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    ranks: int
    bytes_per_ns: float
    latency_ns: float


class Ring(Builder):
    """n ranks in a circle; two ranks are one pair."""

    options = Section(Options, {"ranks": ("ranks", Whole(at_least=2), "in the circle"), **LINKS})
    example: ClassVar = {"ranks": 8, "bandwidth": "50 GB/s", "latency": "500 ns"}

    def size(self) -> Size:
        return Size(self.given.ranks, self.given.ranks, 2 * self._cables)

    def graph(self) -> Graph:
        draft = Draft(self.given.ranks)
        ranks = draft.ranks[: self._cables]
        draft.cables(ranks, np.roll(draft.ranks, -1)[: self._cables], self.speed, "up", "down")
        return draft.graph(draft.ranks.astype(np.int32)[:, None])

    def bisection(self) -> float:
        rate: float = min(2, self._cables) * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int:
        ranks: int = self.given.ranks
        return ranks // 2

    @property
    def _cables(self) -> int:
        ranks: int = self.given.ranks
        return ranks if ranks > 2 else 1


PLUGIN = Ring
