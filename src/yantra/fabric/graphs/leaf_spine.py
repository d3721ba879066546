"""Leaf-spine: ranks on leaves, each leaf with a cable to each spine; a fat tree of two tiers.

Source: Alizadeh and Edsall, HOTI 2013.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import two_tiers
from yantra.fabric.graphs.builder import LINKS, Builder, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    leaves: int
    ranks_per_leaf: int
    spines: int
    bytes_per_ns: float
    latency_ns: float
    oversubscription: float | None = None
    uplink_bytes_per_ns: float | None = None
    uplink_latency_ns: float | None = None


class LeafSpine(Builder):
    """Without `uplink_bandwidth` the uplinks follow from the oversubscription, which is then 1."""

    options = Section(
        Options,
        {
            "leaves": ("leaves", Whole(at_least=1), "switches that ranks are on"),
            "ranks_per_leaf": ("ranks_per_leaf", Whole(at_least=1), "ranks on each leaf"),
            "spines": ("spines", Whole(at_least=1), "switches that each leaf has a cable to"),
            **LINKS,
            **two_tiers.KEYS,
        },
    )
    example: ClassVar = {
        "leaves": 4,
        "ranks_per_leaf": 4,
        "spines": 2,
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
    }

    def refuses(self) -> tuple[str, str] | None:
        given = self.given
        if wrong := two_tiers.said_twice(given):
            return wrong
        if given.leaves * given.ranks_per_leaf < 2:
            return "leaves", "expected at least 2 ranks in all, got 1"
        return None

    def size(self) -> Size:
        given = self.given
        ranks = given.leaves * given.ranks_per_leaf
        cables = ranks + given.leaves * given.spines
        return Size(ranks, ranks + given.leaves + given.spines, 2 * cables)

    def graph(self) -> Graph:
        given = self.given
        draft = Draft(given.leaves * given.ranks_per_leaf)
        leaves = draft.switches("leaf", given.leaves)
        below = np.repeat(leaves, given.ranks_per_leaf)
        draft.cables(draft.ranks, below, self.speed, "rank up", "rank down")
        two_tiers.add_spines(draft, leaves, self._uplinks)
        return draft.graph()

    def bisection(self) -> float:
        given = self.given
        return two_tiers.bisection(
            given.leaves,
            given.ranks_per_leaf,
            given.bytes_per_ns,
            given.spines,
            self._uplinks.speed.bytes_per_ns,
        )

    def diameter(self) -> int:
        return 4 if self.given.leaves > 1 else 2

    @property
    def _uplinks(self) -> two_tiers.Uplinks:
        below = self.given.ranks_per_leaf * self.given.bytes_per_ns
        return two_tiers.uplinks_of(self.given, below)


PLUGIN = LeafSpine
