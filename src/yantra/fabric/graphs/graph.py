"""The graph of a fabric: devices, and directed links with rate and latency.

Columns of numpy: 100,000 hosts take megabytes. Devices 0 to ranks - 1 are ranks, then switches and
network cards. Several links may join two devices.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_BOX = -1
"""The box of a device that is in none."""

_MOST_DEVICES = 2**32 - 1
_LONGEST_NS = 2**63 // 1000  # picoseconds in 63 bits
_TOO_LATE = (
    f"from {{0}} to {{1}} has a latency above {_LONGEST_NS} ns: a run lasts at most 106 days, "
    "2^63 picoseconds"
)


class GraphError(Exception): ...


class DeviceKind(IntEnum):
    RANK = 0
    SWITCH = 1
    NIC = 2


class Tier(NamedTuple):
    """Devices of one name in a row: "name 0", "name 1", ..."""

    name: str
    kind: DeviceKind
    size: int


class Graph:
    """A fabric; arrays never change.

    `tiers` name devices in order, `names` those with their own. Links have `link_from`, `link_to`,
    `bytes_per_ns`, `latency_ns`, and `label`, an index of `labels`. `boxes`: each device's box, or
    NO_BOX. `coordinates` (devices x dimensions) of a grid, or None; a row's switch has -1 in its
    dimension. `weights` of links for routings, None for 1. `buffers`: shared bytes of devices, 0 if
    not stated, or None.
    """

    def __init__(
        self,
        tiers: tuple[Tier, ...],
        links: Links,
        labels: tuple[str, ...],
        *,
        names: tuple[str, ...] | None = None,
        boxes: NDArray[np.int32] | None = None,
        coordinates: NDArray[np.int32] | None = None,
        weights: NDArray[np.float64] | None = None,
        buffers: NDArray[np.int64] | None = None,
    ) -> None:
        """Raises GraphError for parts that are no graph."""
        self.tiers = tiers
        self.ranks = sum(tier.size for tier in tiers if tier.kind is DeviceKind.RANK)
        self.devices = sum(tier.size for tier in tiers)
        self.links = links
        self.labels = labels
        self.names = names
        none = np.full(self.devices, NO_BOX, np.int32)
        self.boxes = none if boxes is None else boxes
        self.coordinates = coordinates
        self.weights = weights
        self.buffers = buffers
        self._check()

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        kinds = [tier.kind for tier in self.tiers]
        return np.repeat(kinds, [tier.size for tier in self.tiers]).astype(np.uint8)

    def name_of(self, device: int) -> str:
        if self.names is not None:
            return self.names[device]
        at = device
        for tier in self.tiers:
            if at < tier.size:
                return f"{tier.name} {at}"
            at -= tier.size
        raise IndexError(device)

    def ports(self) -> NDArray[np.int64]:
        return np.bincount(self.links.start, minlength=self.devices)

    def _check(self) -> None:
        links, devices = self.links, self.devices
        if not self.ranks:
            raise GraphError("it has no ranks")
        if devices > _MOST_DEVICES:
            raise GraphError(f"it has {devices} devices; expected at most {_MOST_DEVICES}")
        lengths = {len(column) for column in links}
        if len(lengths) > 1:
            raise GraphError(f"the columns of its links have different lengths: {sorted(lengths)}")
        if len(links.start):
            for column in (links.start, links.end):
                last = int(column.max())
                if last >= devices:
                    raise GraphError(f"a link joins device {last}; the last one is {devices - 1}")
            _refuse(links.start == links.end, self, "leads from {0} to itself")
            _refuse(~(links.bytes_per_ns > 0), self, "from {0} to {1} has no bandwidth")
            _refuse(~np.isfinite(links.bytes_per_ns), self, "from {0} to {1} has no finite rate")
            ok = np.isfinite(links.latency_ns) & (links.latency_ns >= 0)
            _refuse(~ok, self, "from {0} to {1} has a negative latency, or none")
            _refuse(links.latency_ns > _LONGEST_NS, self, _TOO_LATE)
            if int(links.label.max()) >= len(self.labels):
                raise GraphError("a link has a label that is not named")
        for said in (len(self.boxes), devices if self.names is None else len(self.names)):
            if said != devices:
                raise GraphError(f"it has {said} boxes or names for {devices} devices")
        if self.coordinates is not None and len(self.coordinates) != devices:
            raise GraphError(f"it has {len(self.coordinates)} coordinates for {devices} devices")
        if self.weights is not None:
            wrong = ~(np.isfinite(self.weights) & (self.weights > 0))
            _refuse(wrong, self, "from {0} to {1} has a weight that is not above 0")

    def unreached(self) -> int | None:
        """Return a rank without a way to or from rank 0, or None."""
        for start, end in ((self.links.start, self.links.end), (self.links.end, self.links.start)):
            seen = _reached(self.devices, start, end)[: self.ranks]
            if not seen.all():
                return int(np.argmin(seen))
        return None


class Links(NamedTuple):
    """Links as columns: from, to, bytes/ns, ns, label."""

    start: NDArray[np.uint32]
    end: NDArray[np.uint32]
    bytes_per_ns: NDArray[np.float64]
    latency_ns: NDArray[np.float64]
    label: NDArray[np.uint16]


def _refuse(wrong: NDArray[np.bool_], graph: Graph, problem: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        ends = (graph.name_of(int(graph.links[column][at])) for column in (0, 1))
        raise GraphError(f"link {at} {problem.format(*ends)}")


def _reached(devices: int, start: Any, end: Any) -> NDArray[np.bool_]:
    seen = np.zeros(devices, np.bool_)
    seen[0] = True
    while True:
        more = end[seen[start] & ~seen[end]]
        if not len(more):
            return seen
        seen[more] = True
