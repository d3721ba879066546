"""One all-reduce on a product of dimensions: what most published experiments come down to."""

from __future__ import annotations

from typing import Any, NamedTuple

import yantra
from yantra import chakra
from yantra.scenario import ASTRA_SIM_RESOURCES

MIB = 1 << 20
_GIB_PER_NS = 1073741824 / 1_000_000_000  # a GB/s of ASTRA-sim and of its papers, in bytes per ns


class Block(NamedTuple):
    """A dimension: all links of a rank in it together carry `gb_per_s` (2^30 bytes) one way."""

    kind: str
    size: int
    gb_per_s: float
    algorithm: str
    latency_ns: float = 1.0


def topology(blocks: list[Block]) -> yantra.Topology:
    """Return the product of some dimensions."""
    return yantra.Topology(
        dimensions=tuple(
            yantra.Dimension(
                kind=block.kind,
                size=block.size,
                bytes_per_ns=block.gb_per_s * _GIB_PER_NS,
                latency_ns=block.latency_ns,
            )
            for block in blocks
        )
    )


def all_reduce_us(blocks: list[Block], size_bytes: int, **collectives: Any) -> float:
    """Return the time of an all-reduce in us, as ASTRA-sim would simulate it.

    Local reductions take no time, as in ASTRA-sim 1.0 and its publications.
    """
    step = chakra.TraceBuilder()
    step.collective("all_reduce", size_bytes)
    fabric = topology(blocks)
    scenario = yantra.Scenario(
        workload=yantra.Traces(traces=(step.build(),) * fabric.ranks),
        topology=fabric,
        network=collectives.pop("network", "analytical"),
        collectives=yantra.Collectives(
            all_reduce=tuple(block.algorithm for block in blocks), **collectives
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    return yantra.simulate(scenario).makespan_ns / 1000
