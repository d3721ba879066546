"""One collective on a described network: what most published experiments come down to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Dimension,
    Scenario,
    Topology,
    Traces,
)

DATA = Path(__file__).parent / "data"
MIB = 1 << 20


class Block(NamedTuple):
    """A dimension: all links of a rank in it together carry `gb_per_s` (2^30 bytes) one way."""

    kind: Any
    size: int
    gb_per_s: float
    algorithm: str
    latency_ns: float = 1.0


def rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table in tests/validation/data; comments name its source."""
    lines = (DATA / name).read_text().splitlines()
    header, *body = [line.split(",") for line in lines if not line.startswith("#")]
    return (dict(zip(header, line, strict=True)) for line in body)


def all_reduce_us(blocks: list[Block], size_bytes: int, **collectives: Any) -> float:
    """Return the time in us of an all-reduce as ASTRA-sim would simulate it.

    Local reductions take no time, as in ASTRA-sim 1.0 and its publications.
    """
    topology = Topology(
        dimensions=tuple(
            Dimension(
                kind=block.kind,
                size=block.size,
                bytes_per_ns=block.gb_per_s * 1073741824 / 1000000000,
                latency_ns=block.latency_ns,
            )
            for block in blocks
        )
    )
    step = TraceBuilder()
    step.collective(CollectiveType.ALL_REDUCE, size_bytes)
    network = collectives.pop("network", "analytical")
    scenario = Scenario(
        workload=Traces(traces=(step.build(),) * topology.ranks),
        topology=topology,
        network=network,
        collectives=Collectives(
            all_reduce=tuple(block.algorithm for block in blocks), **collectives
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
    finish: list[int] = run_native(compile(scenario)).finish.tolist()
    return max(finish) / 1000


def deviation(ours: float, published: float) -> float:
    """Return by which part of the published value ours differs."""
    return ours / published - 1
