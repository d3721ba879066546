"""Tiers of memory behind a rank: host, CXL, SSD, a pool.

Trade-off: `static` gives all accesses one mix; each rank has its own tiers, without waiting.

Source: Kadiyala et al., COMET (2022), for the effective bandwidth of two tiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Many, Number, Quantity, Section, Text
from yantra.base.records import Record
from yantra.memory.migration import Touch, blocks_of, migrated
from yantra.memory.model import Accesses, MemoryModel, Speeds
from yantra.memory.placement import Data, Tier, does_not_fit, place, shares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WHERE = "cluster.memory.options"
_NAMED = 4
Ports = Literal["one", "each"]
Policy = Literal["static", "lru"]
GRANULE = 2 << 20
"""Bytes moved at once: the largest block that CUDA's unified memory migrates (NVIDIA,
open-gpu-kernel-modules, uvm_va_block_types.h).
"""

_RATE = Quantity("bandwidth", "B/ns", above=0)
_SIZE = Quantity("size", "B", whole=True, at_least=1)
_TIER = Section(
    Tier,
    {
        "name": ("name", Text(), "of the tier"),
        "capacity": ("capacity_bytes", _SIZE, "for each rank"),
        "read": ("read_bytes_per_ns", _RATE, "of loads"),
        "write": ("write_bytes_per_ns", _RATE, "of stores, that of loads if left out"),
        "latency": ("latency_ns", Quantity("time", "ns", at_least=0), "of each access"),
    },
)
_DATA = Section(
    Data,
    {
        "name": ("name", Text(), "of the data: weights, optimizer, ..."),
        "size": ("size_bytes", _SIZE, "of each rank"),
        "touches": ("touches", Number(at_least=0), "of each byte in a step"),
        "tier": ("tier", Text(), "where it is; the fastest with room if left out"),
    },
)


class Options(Record):
    """The tiers, their data, whether they share a port, and what moves."""

    tiers: tuple[Tier, ...]
    data: tuple[Data, ...] = ()
    ports: Ports = "one"
    policy: Policy = "static"
    granule_bytes: int = GRANULE


class Tiers(MemoryModel):
    """Several memories, each with a part of the data."""

    needs_bandwidth = False
    options = Section(
        Options,
        {
            "tiers": ("tiers", Many(_TIER), "the memories, the fastest first"),
            "data": (
                "data",
                Many(_DATA),
                "what is in them; by default what the workload offloads",
            ),
            "ports": ("ports", Choice(Ports), "one port that the tiers share, or one for each"),
            "policy": (
                "policy",
                Choice(Policy),
                "data stays, or the least recently used makes room in the faster tier",
            ),
            "granule": ("granule_bytes", _SIZE, "what moves between tiers at once"),
        },
    )
    example: ClassVar[Mapping[str, Any]] = {
        "tiers": (
            Tier(name="host", capacity_bytes=10**9, read_bytes_per_ns=50.0, latency_ns=1000.0),
            Tier(name="ssd", capacity_bytes=10**12, read_bytes_per_ns=7.0, latency_ns=50_000.0),
        ),
        "data": (Data(name="all", size_bytes=10**10),),
    }

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.shares: list[float] = []
        given: Options = self.given
        if not given.tiers:
            raise ConfigError(f"{_WHERE}.tiers", "expected at least one")
        if given.data and self.remembers:
            problem = "not with policy lru, which finds out from the accesses; leave it out"
            raise ConfigError(f"{_WHERE}.data", problem)
        if given.data:
            self._place(given.data)

    def hold(self, offloaded: Mapping[str, int]) -> None:
        if not self.given.data and offloaded and not self.remembers:
            self._place([Data(name=name, size_bytes=size) for name, size in offloaded.items()])

    @property
    def remembers(self) -> bool:
        return bool(self.given.policy == "lru")

    def in_order(
        self, touches: Sequence[Touch], names: Sequence[str], speeds: Speeds
    ) -> Sequence[float]:
        given: Options = self.given
        tiers = sorted(given.tiers, key=lambda tier: -tier.read_bytes_per_ns)
        rooms = [tier.capacity_bytes // given.granule_bytes for tier in tiers]
        _check_room(tiers, rooms, given.granule_bytes, touches, names)
        moved = migrated(touches, rooms, given.granule_bytes, f"{_WHERE}.granule")
        combine = sum if given.ports == "one" else max
        return [
            speeds.latency_ns
            + combine(
                tier.latency_ns * bool(read or written)
                + read / tier.read_bytes_per_ns
                + written / (tier.write_bytes_per_ns or tier.read_bytes_per_ns)
                for tier, read, written in zip(tiers, one.read, one.written, strict=True)
            )
            for one in moved
        ]

    def _place(self, data: Sequence[Data]) -> None:
        if not any(one.touches for one in data):
            raise ConfigError(f"{_WHERE}.data", "expected at least one that a step touches")
        tiers = self.given.tiers
        self.shares = shares(tiers, data, place(tiers, data, f"{_WHERE}.data"))

    def access(self, accesses: Accesses, speeds: Speeds) -> NDArray[np.float64]:
        import numpy as np

        given: Options = self.given
        if len(accesses) and not self.shares:
            problem = "missing, as the workload does not say what it keeps there"
            raise ConfigError(f"{_WHERE}.data", problem)
        total = np.zeros(len(accesses))
        for tier, share in zip(given.tiers, self.shares, strict=bool(self.shares)):
            if share == 0.0:
                continue
            write = tier.write_bytes_per_ns or tier.read_bytes_per_ns
            rate = np.where(accesses.is_store, write, tier.read_bytes_per_ns)
            taken = tier.latency_ns + accesses.bytes * share / rate
            total = total + taken if given.ports == "one" else np.maximum(total, taken)
        return speeds.latency_ns + total


def _check_room(
    tiers: Sequence[Tier],
    rooms: Sequence[int],
    granule: int,
    touches: Sequence[Touch],
    names: Sequence[str],
) -> None:
    if rooms[0] < 1:
        problem = f"a granule of {granule} bytes does not fit into {tiers[0].name}"
        raise ConfigError(f"{_WHERE}.granule", f"{problem}; give a smaller one")
    sizes = [0] * len(names)
    for one in touches:
        held = blocks_of(one.size_bytes, granule) * granule
        sizes[one.data] = max(sizes[one.data], held)
    if sum(sizes) <= sum(rooms) * granule:
        return
    by_name: dict[str, int] = {}
    for name, size in zip(names, sizes, strict=True):
        by_name[name] = by_name.get(name, 0) + size
    largest = sorted(by_name, key=lambda name: -by_name[name])
    data = [Data(name=name, size_bytes=by_name[name]) for name in largest[:_NAMED]]
    if rest := sum(by_name[name] for name in largest[_NAMED:]):
        data.append(Data(name=f"{len(largest) - _NAMED} more", size_bytes=rest))
    raise does_not_fit(tiers, data, f"{_WHERE}.tiers")


PLUGIN = Tiers
