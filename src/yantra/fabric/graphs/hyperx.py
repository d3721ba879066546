"""HyperX: routers on a grid, each with a cable to all others of its row in every dimension.

As many hops as dimensions, for many cables; with two it is a flattened butterfly.

Source: Ahn et al., "HyperX: topology, routing, and packaging of efficient large-scale networks", SC
2009, whose S (sizes), K (as the router's bandwidth) and T (ranks per router) the options are.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import LINKS, Builder, Size, speed_keys, speed_of
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.grid import SIZES, none_given, points, strides


class Options(Record):
    sizes: tuple[int, ...]
    ranks_per_router: int
    bytes_per_ns: float
    latency_ns: float
    router_bytes_per_ns: float | None = None
    router_latency_ns: float | None = None


class HyperX(Builder):
    """Rank r is on router r / ranks_per_router; routers are numbered as points of a grid."""

    options = Section(
        Options,
        {
            "sizes": ("sizes", SIZES, "routers along each dimension, such as [4, 4]"),
            "ranks_per_router": ("ranks_per_router", Whole(at_least=1), "ranks on each router"),
            **LINKS,
            **speed_keys("router", "between two routers, of all their cables"),
        },
    )
    example: ClassVar = {
        "sizes": [4, 4],
        "ranks_per_router": 2,
        "bandwidth": "25 GB/s",
        "latency": "500 ns",
    }

    def refuses(self) -> tuple[str, str] | None:
        return none_given(self.given.sizes)

    def size(self) -> Size:
        sizes, ranks = self.given.sizes, self.given.ranks_per_router
        routers = prod(sizes)
        cables = sum(routers * (size - 1) // 2 for size in sizes)
        return Size(routers * ranks, routers * (ranks + 1), 2 * (routers * ranks + cables))

    def graph(self) -> Graph:
        sizes, below = self.given.sizes, self.given.ranks_per_router
        grid = points(sizes)
        draft = Draft(len(grid) * below)
        routers = draft.switches("router", len(grid))
        draft.cables(draft.ranks, np.repeat(routers, below), self.speed, "rank up", "rank down")
        speed = speed_of(self.given, "router")
        for at, (size, stride) in enumerate(zip(sizes, strides(sizes), strict=True)):
            one, other = np.triu_indices(size, 1)
            first = routers[grid[:, at] == 0][:, None]
            draft.cables(first + one * stride, first + other * stride, speed, f"dimension {at}")
        return draft.graph(np.concatenate([np.repeat(grid, below, axis=0), grid]))

    def bisection(self) -> float | None:
        """Return the least cut across a dimension, or of ranks' cables.

        Source: Ahn et al., section 3: with K S_i / 4 per router, all S_i even. None otherwise.
        """
        sizes, given = self.given.sizes, self.given
        if any(size % 2 for size in sizes):
            return None
        routers = prod(sizes)
        rate = speed_of(given, "router").bytes_per_ns
        across: float = routers * min(sizes) / 4 * rate
        ranks: float = routers * given.ranks_per_router // 2 * given.bytes_per_ns
        return min(across, ranks)

    def diameter(self) -> int:
        return len(self.given.sizes) + 2


PLUGIN = HyperX
