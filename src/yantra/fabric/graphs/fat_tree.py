"""Fat tree of switches with k ports in three tiers: edge, aggregation, core.

k * k * k / 4 ranks with full bisection from one kind of switch, 5 k * k / 4 of them; six links
between pods. Oversubscribed, edge switches have that many times the ranks: 2:1 with k = 32 makes
16,384.

Source: Al-Fares, Loukissas and Vahdat, "A scalable, commodity data center network architecture",
SIGCOMM 2008, section 3.
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
    k: int
    bytes_per_ns: float
    latency_ns: float
    oversubscription: int = 1


class FatTree(Builder):
    """k pods of k / 2 edge and k / 2 aggregation switches; k * k / 4 core switches.

    Rank r is on edge switch r / (k / 2), if not oversubscribed. Core switch c is linked to
    aggregation switch c / (k / 2) of every pod.
    """

    options = Section(
        Options,
        {
            "k": ("k", Whole(at_least=2, at_most=256), "ports of a switch, even"),
            **LINKS,
            "oversubscription": (
                "oversubscription",
                Whole(at_least=1, at_most=64),
                "ranks of an edge switch over its cables upwards; by default 1",
            ),
        },
    )
    example: ClassVar = {"k": 4, "bandwidth": "50 GB/s", "latency": "500 ns"}

    def refuses(self) -> tuple[str, str] | None:
        k = self.given.k
        return ("k", f"expected an even number of ports, got {k}") if k % 2 else None

    def size(self) -> Size:
        k = self.given.k
        ranks = k**3 // 4 * self.given.oversubscription
        return Size(ranks, ranks + 5 * k * k // 4, 2 * ranks + k**3)

    def graph(self) -> Graph:
        half = self.given.k // 2
        below = half * self.given.oversubscription
        draft = Draft(self.given.k * half * below)
        edge = draft.switches("edge", self.given.k * half)
        aggregation = draft.switches("aggregation", self.given.k * half)
        core = draft.switches("core", half * half)
        draft.cables(draft.ranks, np.repeat(edge, below), self.speed, "rank up", "rank down")
        pods = aggregation.reshape(-1, 1, half)
        draft.cables(edge.reshape(-1, half, 1), pods, self.speed, "edge up", "edge down")
        tops = core.reshape(1, half, half)
        upper = aggregation.reshape(-1, half, 1)
        draft.cables(upper, tops, self.speed, "aggregation up", "aggregation down")
        return draft.graph()

    def bisection(self) -> float:
        rate: float = self.given.k**3 // 8 * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int:
        return 6


PLUGIN = FatTree
