"""Fully connected: a cable between every two ranks.

One hop and nothing shared, for n (n - 1) / 2 cables.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 1.
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


class FullyConnected(Builder):
    options = Section(Options, {"ranks": ("ranks", Whole(at_least=2), "all linked"), **LINKS})
    example: ClassVar = {"ranks": 8, "bandwidth": "50 GB/s", "latency": "500 ns"}

    def size(self) -> Size:
        ranks = self.given.ranks
        return Size(ranks, ranks, ranks * (ranks - 1))

    def graph(self) -> Graph:
        draft = Draft(self.given.ranks)
        draft.cables(*np.triu_indices(self.given.ranks, 1), self.speed, "link")
        return draft.graph()

    def bisection(self) -> float:
        half = self.given.ranks // 2
        rate: float = half * (self.given.ranks - half) * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int:
        return 1


PLUGIN = FullyConnected
