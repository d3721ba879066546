"""Domains such as NVL72: racks in which every rank has a link to every one of many switches.

A rank has a link to every switch of its rack; rails join racks, a leaf per place.

Source: NVIDIA, "GB200 NVL72" data sheet: 72 GPUs with 18 NVLinks, 1.8 TB/s both ways, 50 GB/s per
link and direction; "NVIDIA GB200 NVL Multi-Node Tuning Guide": 9 trays of two NVSwitch chips.
"""

from __future__ import annotations

from typing import ClassVar

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import boxes
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY, LINKS, Builder, Size
from yantra.fabric.graphs.draft import Speed
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    bytes_per_ns: float
    latency_ns: float
    racks: int = 1
    ranks_per_rack: int = 72
    switches: int = 18
    rail_bytes_per_ns: float | None = None
    rail_latency_ns: float | None = None


class Nvl72(Builder):
    """Racks of 72 ranks and 18 switches by default."""

    options = Section(
        Options,
        {
            **LINKS,
            "racks": ("racks", Whole(at_least=1), "domains"),
            "ranks_per_rack": ("ranks_per_rack", Whole(at_least=2), "ranks of a domain"),
            "switches": ("switches", Whole(at_least=1), "of a domain, all ranks on all"),
            "rail_bandwidth": (
                "rail_bytes_per_ns",
                BANDWIDTH,
                "from a rank to the leaf of its rail; needed where there are several racks",
            ),
            "rail_latency": (
                "rail_latency_ns",
                LATENCY,
                "of that link; needed where there are several racks",
            ),
        },
    )
    example: ClassVar = {"bandwidth": "50 GB/s", "latency": "300 ns"}

    def refuses(self) -> tuple[str, str] | None:
        for key, name in (("rail_bandwidth", "bytes_per_ns"), ("rail_latency", "latency_ns")):
            value = getattr(self.given, f"rail_{name}")
            if self.given.racks > 1 and value is None:
                return key, f"missing; {self.given.racks} racks are joined by rails"
            if self.given.racks == 1 and value is not None:
                return key, "only with several racks, which rails join"
        return None

    def size(self) -> Size:
        return boxes.size(self._boxes, self._rails)

    def graph(self) -> Graph:
        return boxes.draft_of(self._boxes, self._rails).graph()

    def bisection(self) -> float | None:
        if self.given.racks > 1:
            return None
        rate: float = self.given.ranks_per_rack // 2 * self.given.switches * self.given.bytes_per_ns
        return rate

    def diameter(self) -> int | None:
        return 2 if self.given.racks == 1 else 4

    @property
    def _boxes(self) -> boxes.Boxes:
        given = self.given
        return boxes.Boxes(given.racks, given.ranks_per_rack, given.switches, self.speed)

    @property
    def _rails(self) -> boxes.Rails | None:
        given = self.given
        if given.racks == 1:
            return None
        return boxes.Rails(1, Speed(given.rail_bytes_per_ns, given.rail_latency_ns), None)


PLUGIN = Nvl72
