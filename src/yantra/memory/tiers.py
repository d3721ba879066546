"""Tiers of memory behind a rank: host, CXL, SSD, a pool; what is where decides what access takes.

Data is placed once (`placement`); an access then moves from each tier the part of its bytes that a
step touches there. Behind one port the tiers serve one after the other, with ports of their own at
the same time. Trade-off: a trace does not say what an access is of, so all accesses have the same
mix; each rank has tiers of its own, in which nobody waits.
Source: the effective bandwidth of two tiers is that of COMET, Kadiyala et al., "COMET: A
comprehensive cluster design methodology for distributed deep learning training" (2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice, Many, Number, Quantity, Section, Text
from yantra.base.records import Record
from yantra.memory.model import Accesses, MemoryModel, Speeds
from yantra.memory.placement import Data, Tier, place, shares

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WHERE = "cluster.memory.options"
Ports = Literal["one", "each"]

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
    """The tiers, what is in them, and whether they share a port."""

    tiers: tuple[Tier, ...]
    data: tuple[Data, ...] = ()
    ports: Ports = "one"


class Tiers(MemoryModel):
    """Several memories, each with a part of the data."""

    needs_bandwidth = False
    options = Section(
        Options,
        {
            "tiers": ("tiers", Many(_TIER), "of memory"),
            "data": (
                "data",
                Many(_DATA),
                "that is in them; what the workload offloads if left out",
            ),
            "ports": ("ports", Choice(Ports), "one that tiers share, or each its own"),
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
        if given.data:
            self._place(given.data)

    def hold(self, offloaded: Mapping[str, int]) -> None:
        """Place what a workload offloads, where the options do not say what there is."""
        if not self.given.data and offloaded:
            self._place([Data(name=name, size_bytes=size) for name, size in offloaded.items()])

    def _place(self, data: Sequence[Data]) -> None:
        if not any(one.touches for one in data):
            raise ConfigError(f"{_WHERE}.data", "expected at least one that a step touches")
        tiers = self.given.tiers
        self.shares = shares(tiers, data, place(tiers, data, f"{_WHERE}.data"))

    def access(self, accesses: Accesses, speeds: Speeds) -> NDArray[np.float64]:
        """Return the time of the tiers that serve a part: their sum, or the longest."""
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


PLUGIN = Tiers
