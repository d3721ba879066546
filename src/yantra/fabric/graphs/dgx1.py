"""DGX-1: eight GPUs in a hybrid cube mesh of NVLinks, and network cards for pairs of GPUs.

12 of a box's 28 pairs are two links apart. Two NVLinks are one link of twice the rate.

Source: Li et al., "Evaluating modern GPU interconnect: PCIe, NVLink, NV-SLI, NVSwitch and
GPUDirect", IEEE TPDS 31 (2020), figure 1 (P-DGX-1 and V-DGX-1); NVIDIA, "NVIDIA DGX-1 with Tesla
V100 system architecture" (2017), figure 4: four network cards, each on the PCIe switch of two GPUs.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from yantra.base.fields import Choice, Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY, LINKS, Builder, Size
from yantra.fabric.graphs.draft import Draft, Speed
from yantra.fabric.graphs.graph import DeviceKind, Graph

Generation = Literal["p100", "v100"]

_QUADS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
_SINGLE = tuple((one + quad, other + quad) for quad in (0, 4) for one, other in _QUADS) + tuple(
    (at, at + 4) for at in range(4)
)
_DOUBLE: dict[str, frozenset[tuple[int, int]]] = {
    "p100": frozenset(),
    "v100": frozenset({(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)}),
}
_GPUS, _CARDS = 8, 4


class Options(Record):
    bytes_per_ns: float
    latency_ns: float
    boxes: int = 1
    generation: Generation = "v100"
    pcie_bytes_per_ns: float | None = None
    pcie_latency_ns: float | None = None
    network_bytes_per_ns: float | None = None
    network_latency_ns: float | None = None


class Dgx1(Builder):
    """Rank 8 b + i is GPU i of box b; all network cards are on one switch."""

    options = Section(
        Options,
        {
            "bandwidth": ("bytes_per_ns", BANDWIDTH, "of one NVLink, per direction"),
            "latency": LINKS["latency"],
            "boxes": ("boxes", Whole(at_least=1), "number of boxes of 8 GPUs each"),
            "generation": ("generation", Choice(Generation), "of the GPUs: 4 or 6 NVLinks each"),
            "pcie_bandwidth": (
                "pcie_bytes_per_ns",
                BANDWIDTH,
                "from a GPU to its network card; needed with several boxes",
            ),
            "pcie_latency": (
                "pcie_latency_ns",
                LATENCY,
                "of that link; needed with several boxes",
            ),
            "network_bandwidth": (
                "network_bytes_per_ns",
                BANDWIDTH,
                "from a network card to the switch; needed with several boxes",
            ),
            "network_latency": (
                "network_latency_ns",
                LATENCY,
                "of that link; needed with several boxes",
            ),
        },
    )
    example: ClassVar = {"bandwidth": "25 GB/s", "latency": "700 ns"}

    def refuses(self) -> tuple[str, str] | None:
        for link in ("pcie", "network"):
            for key, name in (("bandwidth", "bytes_per_ns"), ("latency", "latency_ns")):
                value = getattr(self.given, f"{link}_{name}")
                if self.given.boxes > 1 and value is None:
                    return f"{link}_{key}", f"missing; needed to join {self.given.boxes} boxes"
                if self.given.boxes == 1 and value is not None:
                    return f"{link}_{key}", "only with several boxes, which network cards join"
        return None

    def size(self) -> Size:
        boxes = self.given.boxes
        cables = boxes * len(_SINGLE)
        if boxes == 1:
            return Size(_GPUS, _GPUS, 2 * cables)
        devices = boxes * (_GPUS + _CARDS)
        return Size(boxes * _GPUS, devices + 1, 2 * (cables + devices))

    def graph(self) -> Graph:
        given, boxes = self.given, self.given.boxes
        draft = Draft(boxes * _GPUS, "GPU")
        draft.in_boxes(draft.ranks, draft.ranks // _GPUS)
        double = _DOUBLE[given.generation]
        first = _GPUS * np.arange(boxes)[:, None]
        for pairs, links in (([p for p in _SINGLE if p not in double], 1), (sorted(double), 2)):
            if pairs:
                one, other = np.array(pairs).T
                speed = Speed(links * given.bytes_per_ns, given.latency_ns)
                draft.cables(first + one, first + other, speed, "nvlink")
        if boxes > 1:
            cards = draft.switches("network card", boxes * _CARDS, DeviceKind.NIC)
            draft.in_boxes(cards, np.repeat(np.arange(boxes), _CARDS))
            pcie = Speed(given.pcie_bytes_per_ns, given.pcie_latency_ns)
            network = Speed(given.network_bytes_per_ns, given.network_latency_ns)
            own = np.repeat(cards, _GPUS // _CARDS)
            draft.cables(draft.ranks, own, pcie, "pcie up", "pcie down")
            draft.cables(cards, draft.switches("switch", 1), network, "network up", "network down")
        return draft.graph()


PLUGIN = Dgx1
