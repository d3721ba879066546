"""Small clusters and scenarios, so that each test holds only what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yantra.chakra import TraceBuilder
from yantra.scenario import Collectives, Device, Dimension, Scenario, Topology, Traces

GB_PER_S = 50.0
LATENCY_NS = 500.0


def dimension(kind: Any = "ring", size: int = 4, bytes_per_ns: float = GB_PER_S) -> Dimension:
    return Dimension(kind=kind, size=size, bytes_per_ns=bytes_per_ns, latency_ns=LATENCY_NS)


def scenario(
    traces: Iterable[TraceBuilder],
    *dimensions: Dimension,
    groups: Any = (),
    collectives: Collectives | None = None,
    **parts: Any,
) -> Scenario:
    builders = list(traces)
    built = {id(builder): builder.build() for builder in builders}
    rings = ("ring",) * len(dimensions)
    default = Collectives(
        all_reduce=rings, all_gather=rings, reduce_scatter=rings, all_to_all=rings, chunks=2
    )
    return Scenario(
        workload=Traces(traces=tuple(built[id(trace)] for trace in builders), groups=groups),
        topology=Topology(dimensions=dimensions),
        device=parts.pop("device", Device(memory_bytes_per_s=1e12)),
        collectives=collectives or default,
        **parts,
    )
