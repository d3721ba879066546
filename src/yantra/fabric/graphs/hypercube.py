"""Hypercube: ranks whose numbers differ in one bit have a cable.

log2(n) hops across, for log2(n) cables per rank.

Source: Sullivan and Bashkow, ISCA 1977.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import LINKS, Builder, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.grid import points


class Options(Record):
    dimensions: int
    bytes_per_ns: float
    latency_ns: float


class Hypercube(Builder):
    """2 to the power of `dimensions` ranks."""

    options = Section(
        Options,
        {
            "dimensions": ("dimensions", Whole(at_least=1, at_most=24), "of two ranks each"),
            **LINKS,
        },
    )
    example: ClassVar = {"dimensions": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}

    def size(self) -> Size:
        ranks = 2**self.given.dimensions
        return Size(ranks, ranks, ranks * self.given.dimensions)

    def graph(self) -> Graph:
        dimensions = self.given.dimensions
        draft = Draft(2**dimensions)
        for bit in range(dimensions):
            low = draft.ranks[draft.ranks & np.uint32(1 << bit) == 0]
            draft.cables(low, low | np.uint32(1 << bit), self.speed, f"dimension {bit}")
        return draft.graph(points((2,) * dimensions))

    def bisection(self) -> float:
        rate: float = 2 ** (self.given.dimensions - 1) * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int:
        dimensions: int = self.given.dimensions
        return dimensions


PLUGIN = Hypercube
