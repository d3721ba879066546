"""Rail-optimised: boxes with a switch inside; place i of every box is on the leaf of rail i.

Without spines it is rail-only.

Source: Wang et al., "Rail-only", Hot Interconnects 2024, section 2.
"""

from __future__ import annotations

from typing import ClassVar

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import boxes, two_tiers
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY, Builder, Size
from yantra.fabric.graphs.draft import Speed
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    boxes: int
    ranks_per_box: int
    box_bytes_per_ns: float
    box_latency_ns: float
    bytes_per_ns: float
    latency_ns: float
    box_switches: int = 1
    boxes_per_leaf: int | None = None
    spines: int = 0
    oversubscription: float | None = None
    uplink_bytes_per_ns: float | None = None
    uplink_latency_ns: float | None = None


class RailOptimised(Builder):
    """Groups of `boxes_per_leaf` boxes have a leaf per rail; spines join all."""

    options = Section(
        Options,
        {
            "boxes": ("boxes", Whole(at_least=1), "number of boxes, such as servers"),
            "ranks_per_box": (
                "ranks_per_box",
                Whole(at_least=2),
                "ranks in each box, and number of rails",
            ),
            "box_bandwidth": (
                "box_bytes_per_ns",
                BANDWIDTH,
                "from a rank to each switch of its box, per direction",
            ),
            "box_latency": ("box_latency_ns", LATENCY, "of that link"),
            "bandwidth": ("bytes_per_ns", BANDWIDTH, "from a rank to its leaf, per direction"),
            "latency": ("latency_ns", LATENCY, "of that link"),
            "box_switches": ("box_switches", Whole(at_least=1), "in each box; all ranks on all"),
            "boxes_per_leaf": (
                "boxes_per_leaf",
                Whole(at_least=1),
                "boxes that share their leaves; by default all",
            ),
            "spines": (
                "spines",
                Whole(at_least=0),
                "number of spines; all leaves have a cable to each",
            ),
            **two_tiers.KEYS,
        },
    )
    example: ClassVar = {
        "boxes": 4,
        "ranks_per_box": 4,
        "box_bandwidth": "450 GB/s",
        "box_latency": "300 ns",
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
        "spines": 2,
        "boxes_per_leaf": 2,
    }

    def refuses(self) -> tuple[str, str] | None:
        given = self.given
        if given.boxes_per_leaf is not None and given.boxes % given.boxes_per_leaf:
            wrong = f"expected a divisor of the {given.boxes} boxes, got {given.boxes_per_leaf}"
            return "boxes_per_leaf", wrong
        if not given.spines:
            if self._groups > 1:
                return "spines", f"expected at least 1, as {self._groups} groups of boxes need them"
            return two_tiers.without_spines(given)
        return two_tiers.said_twice(given)

    def size(self) -> Size:
        return boxes.size(self._boxes, self._rails)

    def graph(self) -> Graph:
        return boxes.draft_of(self._boxes, self._rails).graph()

    @property
    def _groups(self) -> int:
        per_leaf = self.given.boxes_per_leaf
        groups: int = 1 if per_leaf is None else self.given.boxes // per_leaf
        return groups

    @property
    def _boxes(self) -> boxes.Boxes:
        given = self.given
        speed = Speed(given.box_bytes_per_ns, given.box_latency_ns)
        return boxes.Boxes(given.boxes, given.ranks_per_box, given.box_switches, speed)

    @property
    def _rails(self) -> boxes.Rails:
        given, uplinks = self.given, None
        if given.spines:
            below = given.boxes // self._groups * given.bytes_per_ns
            uplinks = two_tiers.uplinks_of(given, below)
        return boxes.Rails(self._groups, self.speed, uplinks)


PLUGIN = RailOptimised
