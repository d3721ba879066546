"""A graph being drawn up in columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.fabric.graphs.graph import NO_BOX, DeviceKind, Graph, Links, Tier

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Speed(NamedTuple):
    """Rate in bytes/ns each way, latency in ns."""

    bytes_per_ns: float
    latency_ns: float


class Draft:
    """A graph in the making: ranks first, then devices, links at any time."""

    def __init__(self, ranks: int, name: str = "rank") -> None:
        self.ranks = np.arange(ranks, dtype=np.uint32)
        self._tiers = [Tier(name, DeviceKind.RANK, ranks)]
        self._count = ranks
        self._parts: list[tuple[Any, ...]] = []
        self._labels: dict[str, int] = {}
        self._boxes: list[tuple[Any, Any]] = []

    def switches(
        self, name: str, count: int, kind: DeviceKind = DeviceKind.SWITCH
    ) -> NDArray[np.uint32]:
        first, self._count = self._count, self._count + count
        self._tiers.append(Tier(name, kind, count))
        return np.arange(first, self._count, dtype=np.uint32)

    def links(self, start: Any, end: Any, speed: Speed, label: str) -> None:
        one, other = np.broadcast_arrays(start, end)
        number = self._labels.setdefault(label, len(self._labels))
        self._parts.append((one.ravel(), other.ravel(), speed, number))

    def cables(self, low: Any, high: Any, speed: Speed, up: str, down: str = "") -> None:
        """Add links both ways, labelled `up` and `down`."""
        self.links(low, high, speed, up)
        self.links(high, low, speed, down or up)

    def in_boxes(self, devices: Any, box: Any) -> None:
        self._boxes.append((devices, box))

    def graph(self, coordinates: NDArray[np.int32] | None = None) -> Graph:
        starts, ends, speeds, numbers = zip(*self._parts, strict=True) if self._parts else [()] * 4
        lengths = [len(part) for part in starts]

        def column(values: list[float], kind: Any) -> Any:
            return np.repeat(np.array(values, kind), lengths)

        def joined(parts: Any) -> NDArray[np.uint32]:
            return np.concatenate([np.zeros(0, np.uint32), *parts]).astype(np.uint32, copy=False)

        boxes = np.full(self._count, NO_BOX, np.int32)
        for devices, box in self._boxes:
            boxes[devices] = box
        links = Links(
            joined(starts),
            joined(ends),
            column([speed.bytes_per_ns for speed in speeds], np.float64),
            column([speed.latency_ns for speed in speeds], np.float64),
            column(list(numbers), np.uint16),
        )
        return Graph(
            tuple(self._tiers), links, tuple(self._labels), boxes=boxes, coordinates=coordinates
        )
