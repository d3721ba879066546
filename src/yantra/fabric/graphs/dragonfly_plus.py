"""Dragonfly+ (Megafly): groups of leaves and spines, and long cables between spines of groups.

More paths in a group than a dragonfly, for twice the switches.

Source: Shpiner et al., "Dragonfly+", HiPINEB 2017.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import group_links
from yantra.fabric.graphs.builder import LINKS, Builder, Size, speed_keys, speed_of
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    ranks_per_leaf: int
    leaves: int
    spines: int
    h: int
    bytes_per_ns: float
    latency_ns: float
    g: int | None = None
    local_bytes_per_ns: float | None = None
    local_latency_ns: float | None = None
    global_bytes_per_ns: float | None = None
    global_latency_ns: float | None = None


class DragonflyPlus(Builder):
    """Rank r is on leaf r / ranks_per_leaf, which is in group r / (ranks_per_leaf leaves)."""

    options = Section(
        Options,
        {
            "ranks_per_leaf": ("ranks_per_leaf", Whole(at_least=1), "ranks on each leaf"),
            "leaves": ("leaves", Whole(at_least=1), "of a group"),
            "spines": ("spines", Whole(at_least=1), "of a group, each with a cable to each leaf"),
            "h": ("h", Whole(at_least=1), "ports of a spine to other groups"),
            **LINKS,
            "g": ("g", Whole(at_least=2), "groups; by default spines h + 1, the most there are"),
            **speed_keys("local", "between leaf and spine"),
            **speed_keys("global", "between groups"),
        },
    )
    example: ClassVar = {
        "ranks_per_leaf": 2,
        "leaves": 2,
        "spines": 2,
        "h": 2,
        "bandwidth": "25 GB/s",
        "latency": "500 ns",
    }

    def refuses(self) -> tuple[str, str] | None:
        return group_links.refusal(self._groups, self._ports, "spines h")

    def size(self) -> Size:
        given, groups = self.given, self._groups
        ranks = groups * given.leaves * given.ranks_per_leaf
        times = group_links.rounds(groups, self._ports)
        local = groups * given.leaves * given.spines
        cables = ranks + local + groups * (groups - 1) // 2 * times
        return Size(ranks, ranks + groups * (given.leaves + given.spines), 2 * cables)

    def graph(self) -> Graph:
        given, groups = self.given, self._groups
        draft = Draft(groups * given.leaves * given.ranks_per_leaf)
        leaves = draft.switches("leaf", groups * given.leaves)
        spines = draft.switches("spine", groups * given.spines).reshape(groups, given.spines)
        below = np.repeat(leaves, given.ranks_per_leaf)
        draft.cables(draft.ranks, below, self.speed, "rank up", "rank down")
        local = speed_of(given, "local")
        low = leaves.reshape(groups, given.leaves, 1)
        draft.cables(low, spines[:, None, :], local, "leaf up", "leaf down")
        draft.cables(*group_links.cables(spines, given.h), speed_of(given, "global"), "global")
        return draft.graph()

    @property
    def _groups(self) -> int:
        return group_links.groups_of(self.given.g, self._ports)

    @property
    def _ports(self) -> int:
        ports: int = self.given.spines * self.given.h
        return ports


PLUGIN = DragonflyPlus
