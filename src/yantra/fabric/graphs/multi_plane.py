"""Planes: every rank has a port into each of several equal, separate networks.

Two tiers reach further, but an unstriped message has one plane's rate.

Source: Zhao et al., "Insights into DeepSeek-V3", ISCA 2025, section 5.1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import two_tiers
from yantra.fabric.graphs.builder import LINKS, Builder, Size, speed_keys, speed_of
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    planes: int
    ranks_per_leaf: int
    bytes_per_ns: float
    latency_ns: float
    leaves: int = 1
    spines: int = 0
    uplink_bytes_per_ns: float | None = None
    uplink_latency_ns: float | None = None


class MultiPlane(Builder):
    """A plane is a switch, or leaves and spines; rank r is on leaf r / ranks_per_leaf of all."""

    options = Section(
        Options,
        {
            "planes": (
                "planes",
                Whole(at_least=1, at_most=1024),
                "number of planes; a rank has a port into each",
            ),
            "ranks_per_leaf": ("ranks_per_leaf", Whole(at_least=1), "ranks on each leaf"),
            **LINKS,
            "leaves": ("leaves", Whole(at_least=1), "of a plane"),
            "spines": ("spines", Whole(at_least=0), "of a plane; needed where there are leaves"),
            **speed_keys("uplink", "of each cable to a spine"),
        },
    )
    example: ClassVar = {
        "planes": 4,
        "ranks_per_leaf": 4,
        "leaves": 2,
        "spines": 2,
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
    }

    def refuses(self) -> tuple[str, str] | None:
        given = self.given
        if given.leaves * given.ranks_per_leaf < 2:
            return "leaves", "expected at least 2 ranks in all, got 1"
        if given.leaves > 1 and not given.spines:
            return "spines", f"expected at least 1, as {given.leaves} leaves need them"
        if given.leaves == 1:
            if given.spines:
                return "spines", "expected none where a plane is a single leaf"
            return two_tiers.without_spines(given)
        return None

    def size(self) -> Size:
        given = self.given
        ranks = given.leaves * given.ranks_per_leaf
        cables = ranks + given.leaves * given.spines
        devices = ranks + given.planes * (given.leaves + given.spines)
        return Size(ranks, devices, 2 * given.planes * cables)

    def graph(self) -> Graph:
        given = self.given
        draft = Draft(given.leaves * given.ranks_per_leaf)
        for at in range(given.planes):
            plane = f"plane {at} "
            leaves = draft.switches(f"{plane}leaf", given.leaves)
            below = np.repeat(leaves, given.ranks_per_leaf)
            draft.cables(draft.ranks, below, self.speed, f"{plane}rank up", f"{plane}rank down")
            if given.spines:
                uplinks = two_tiers.Uplinks(given.spines, speed_of(given, "uplink"))
                two_tiers.add_spines(draft, leaves, uplinks, plane)
        return draft.graph()

    def bisection(self) -> float:
        """Return a plane's times the planes."""
        given = self.given
        of_one = two_tiers.bisection(
            given.leaves,
            given.ranks_per_leaf,
            given.bytes_per_ns,
            given.spines,
            speed_of(given, "uplink").bytes_per_ns,
        )
        rate: float = given.planes * of_one
        return rate

    def diameter(self) -> int:
        return 4 if self.given.leaves > 1 else 2


PLUGIN = MultiPlane
