"""Random networks for small jobs: products of dimensions, named clusters, and drawn graphs."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.laws.jobs import Job
from tests.programs import REFERENCE_WORDS
from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin, Section
from yantra.base.records import Record
from yantra.fabric.graphs.builder import Builder, Size
from yantra.fabric.graphs.draft import Draft, Speed
from yantra.fabric.graphs.graph import Graph
from yantra.scenario import (
    Collectives,
    Device,
    Dimension,
    RemoteMemory,
    Scenario,
    Topology,
)
from yantra.scenario.named import parts_at

NETWORKS = ("analytical", "store_and_forward", "flow", "packet", "external", "ideal")
"""The networks of the laws; `external` is the reference of the protocol."""
SORTS = ("dimensions", "cluster", "fabric")
OVER_FABRICS = ("store_and_forward", "flow", "packet", "external")
ONE_PS = 1e12
"""Operations a second of a device whose kernels take a picosecond an operation."""

Dim = tuple[str, int, float, float]
"""Kind, size, bytes per ns, ns."""
Cable = tuple[int, int, float, float]
"""Two devices, bytes per ns, ns."""


class Place(NamedTuple):
    """A network and what it is like; `cluster` and `cables` are there for two of the sorts.

    With a `seed` routes are hashed anew. `stretch` makes all times that are not of links so many
    times as long. Rates and latencies of a named cluster are those of `dims`.
    """

    network: str
    sort: str
    dims: tuple[Dim, ...]
    collectives: Collectives
    cluster: str = ""
    cables: tuple[Cable, ...] = ()
    devices: int = 0
    routing: str = ""
    stretch: int = 1
    seed: int = 0

    @property
    def hashes_routes(self) -> bool:
        several = len(self.dims) > 1 or (self.dims[0][0] == "ring" and not self.dims[0][1] % 2)
        return self.network in ("packet", "external") and several

    @property
    def ranks(self) -> int:
        return prod(size for _, size, _, _ in self.dims)

    @property
    def needs_powers(self) -> bool:
        names = self.collectives.all_reduce
        return isinstance(names, tuple) and any("halving" in str(name) for name in names)

    @property
    def fastest(self) -> float:
        return max(row[2] for row in self.cables or self.dims)

    @property
    def fabric_kind(self) -> type[Builder]:
        return _builder(self.ranks, self.devices, self.cables)

    def __str__(self) -> str:
        shown = [f"{self.network} on {self.cluster or self.sort} {list(self.dims)}"]
        if self.cables:
            shown.append(f"  {self.routing} over {self.devices} devices: {list(self.cables)}")
        said = {
            name: getattr(self.collectives, name)
            for name in (
                "all_reduce",
                "chunks",
                "active_chunks",
                "inter_dimension",
                "rendezvous",
                "endpoint_delay_ns",
            )
        }
        return "\n".join([*shown, f"  {said}"])

    def scenario(self, job: Job) -> Scenario:
        fabric: dict[str, Any] = {}
        if self.cables:
            fabric = {"fabric": Plugin(kind=self.fabric_kind), "routing": self.routing}
        elif self.seed:
            product = "_".join(f"{kind}({size})" for kind, size, *_ in self.dims)
            routing = Plugin(kind="ecmp", options=(("seed", self.seed),))
            fabric = {"fabric": Plugin(kind=product), "routing": routing}
        stretch = self.stretch
        return Scenario(
            workload=job.workload(),
            topology=Topology(
                dimensions=tuple(
                    Dimension(kind=kind, size=size, bytes_per_ns=rate, latency_ns=latency)
                    for kind, size, rate, latency in self.dims
                )
            ),
            device=Device(
                peak_flops=ONE_PS / stretch, memory_bytes_per_s=ONE_PS / stretch, compute="roofline"
            ),
            memory=RemoteMemory(
                kind="per_npu", latency_ns=50 * stretch, bytes_per_ns=3.0 / stretch
            ),
            collectives=self.collectives,
            network=network_of(self.network, stretch),
            **fabric,
        )


def network_of(name: str, stretch: int = 1) -> str | Plugin:
    if name == "external":
        return Plugin(kind=name, options=(("command", REFERENCE_WORDS),))
    if name == "packet without control":
        options = (
            ("preset", "none"),
            ("buffer", 1 << 26),
            ("pause", 5_000.0 * stretch),
            ("retransmission", 1e7 * stretch),
        )
        return Plugin(kind="packet", options=options)
    return name


class _Nothing(Record):
    """A graph that was drawn has no options."""


@lru_cache(maxsize=8)
def _builder(ranks: int, devices: int, cables: tuple[Cable, ...]) -> type[Builder]:
    class Drawn(Builder):
        options = Section(_Nothing, {})
        example = {}  # noqa: RUF012

        def size(self) -> Size:
            return Size(ranks, devices, 2 * len(cables))

        def graph(self) -> Graph:
            draft = Draft(ranks)
            if devices > ranks:
                draft.switches("switch", devices - ranks)
            for one, other, rate, latency in cables:
                ends = np.array([one], np.uint32), np.array([other], np.uint32)
                draft.cables(*ends, Speed(rate, latency), "cable")
            return draft.graph()

    return Drawn


def speed(draw: Random) -> tuple[float, float]:
    """Draw bytes per ns, and ns."""
    return draw.choice((0.7, 3.0, 8.0, 53.6870912)), draw.choice((0.0, 12.25, 500.0, 333.0))


def _sizes(draw: Random, ranks: int) -> list[int]:
    ways = {2: [[2]], 3: [[3]], 4: [[4], [2, 2]], 5: [[5]], 6: [[6], [2, 3], [3, 2]], 7: [[7]]}
    ways[8] = [[8], [2, 4], [4, 2], [2, 2, 2]]
    return draw.choice(ways[ranks])


def collectives(draw: Random, sizes: list[int]) -> Collectives:
    names = ["ring", "ring", "direct"]
    if all(size in (2, 4, 8) for size in sizes):
        names.append("halving_doubling")
    chosen = (draw.choice(names),) * len(sizes)
    exchange = ("direct",) if "halving" in chosen[0] else chosen[:1]
    return Collectives(
        all_reduce=chosen,
        all_gather=chosen,
        reduce_scatter=chosen,
        all_to_all=exchange * len(sizes),
        chunks=draw.choice((1, 1, 2, 4)),
        active_chunks=draw.choice((1, 1, 2)),
        endpoint_delay_ns=draw.choice((0, 10)),
        inter_dimension=draw.choice(("ascending", "ascending", "round_robin", "themis")),
        rendezvous=draw.random() < 0.15,
    )


def dimensions(draw: Random, network: str, ranks: int) -> Place:
    sizes = _sizes(draw, ranks)
    kinds = ("ring", "fully_connected", "switch")
    dims = tuple((draw.choice(kinds), size, *speed(draw)) for size in sizes)
    return Place(network, "dimensions", dims, collectives(draw, sizes))


CLUSTERS = ("hgx-h100", "dgx-a100-40gb", "gb200-nvl72", "mi300x", "tpu-v5p", "tpu-v6e", "trainium2")
_COUNTS = (2, 4, 8, 16)


@lru_cache(maxsize=64)
def cluster_of(name: str, ranks: int) -> tuple[tuple[Dim, ...], Collectives] | None:
    try:
        parts = parts_at(name, ranks, speeds="nominal")
    except ConfigError:
        return None  # no such number of ranks
    dims = tuple(
        (str(one.kind), one.size, one.bytes_per_ns, one.latency_ns)
        for one in parts["topology"].dimensions
    )
    return dims, parts["collectives"]


def named_cluster(draw: Random, network: str, ranks: int) -> Place | None:
    name = draw.choice(CLUSTERS)
    found = cluster_of(name, ranks)
    if found is None:
        return None
    return Place(network, "cluster", *found, cluster=name)


def fabric(draw: Random, network: str, ranks: int) -> Place:
    switches = draw.choice((0, 1, 2, 3)) if ranks > 2 else draw.choice((0, 1))
    devices = ranks + switches
    cables: list[Cable] = []
    for device in range(1, ranks) if not switches else range(ranks):
        to = draw.randrange(device) if not switches else ranks + draw.randrange(switches)
        cables.append((device, to, *speed(draw)))
    for switch in range(ranks + 1, devices):
        cables.append((switch, draw.randrange(ranks, switch), *speed(draw)))
    for _ in range(draw.choice((0, 1, 3))):
        if devices > 2:
            cables.append((*draw.sample(range(devices), 2), *speed(draw)))
    routing = draw.choice(("shortest", "d_mod_k", "ecmp"))
    sizes = [ranks]
    dims = (("switch", ranks, 8.0, 100.0),)
    return Place(
        network,
        "fabric",
        dims,
        collectives(draw, sizes),
        cables=tuple(cables),
        devices=devices,
        routing=routing,
    )


def place(draw: Random, network: str, sorts: tuple[str, ...] = SORTS, ranks: int = 0) -> Place:
    fitting = [sort for sort in sorts if sort != "fabric" or network in OVER_FABRICS]
    while True:
        sort = draw.choice(fitting)
        count = ranks or draw.randrange(2, 9)
        if sort == "dimensions":
            return dimensions(draw, network, count)
        if sort == "fabric":
            return fabric(draw, network, count)
        if (found := named_cluster(draw, network, ranks or draw.choice(_COUNTS[:3]))) is not None:
            return found
