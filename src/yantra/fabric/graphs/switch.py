"""Switch: each rank has a cable to one switch.

Two hops and full bisection, as far as a switch has ports.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 1.
"""

from __future__ import annotations

from typing import ClassVar

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import LINKS, Builder, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    ranks: int
    bytes_per_ns: float
    latency_ns: float


class Switch(Builder):
    options = Section(Options, {"ranks": ("ranks", Whole(at_least=2), "on the switch"), **LINKS})
    example: ClassVar = {"ranks": 8, "bandwidth": "50 GB/s", "latency": "500 ns"}

    def size(self) -> Size:
        return Size(self.given.ranks, self.given.ranks + 1, 2 * self.given.ranks)

    def graph(self) -> Graph:
        draft = Draft(self.given.ranks)
        draft.cables(draft.ranks, draft.switches("switch", 1), self.speed, "up", "down")
        return draft.graph()

    def bisection(self) -> float:
        rate: float = self.given.ranks // 2 * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int:
        return 2


PLUGIN = Switch
