"""Small scenarios for tests: a cluster, traces from a function, and a run in nanoseconds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

from yantra import _core
from yantra.base.seals import MEMBER, seal_pieces
from yantra.chakra import CollectiveType, Trace, TraceBuilder
from yantra.compile import Model, compile
from yantra.run.simulate import run_native
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces
from yantra.scenario.quirks import Quirk

NEVER = 2**64 - 1

ALL_REDUCE = CollectiveType.ALL_REDUCE
ALL_GATHER = CollectiveType.ALL_GATHER
ALL_TO_ALL = CollectiveType.ALL_TO_ALL
REDUCE_SCATTER = CollectiveType.REDUCE_SCATTER

ASTRA_SIM_SYSTEM: dict[str, Any] = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 50,
}

Write = Callable[[TraceBuilder, int], object]


def cluster(*dimensions: tuple[str, int, float, float]) -> Topology:
    """Make a topology of (kind, size, bytes per ns, latency in ns), the innermost first."""
    return Topology(
        dimensions=tuple(
            Dimension(kind=kind, size=size, bytes_per_ns=bandwidth, latency_ns=latency)  # type: ignore[arg-type]
            for kind, size, bandwidth, latency in dimensions
        )
    )


def traces(ranks: int, write: Write) -> tuple[Trace, ...]:
    made = []
    for rank in range(ranks):
        builder = TraceBuilder(rank=rank)
        write(builder, rank)
        made.append(builder.build())
    return tuple(made)


def collectives(algorithm: str = "ring", dimensions: int = 1, **options: Any) -> Collectives:
    names = (algorithm,) * dimensions
    chosen = dict.fromkeys(("all_reduce", "reduce_scatter", "all_gather", "all_to_all"), names)
    return Collectives(**{**chosen, "endpoint_delay_ns": 0, **options})


def scenario(
    topology: Topology,
    write: Write,
    *,
    groups: tuple[tuple[int, tuple[int, ...]], ...] = (),
    quirks: Iterable[Quirk] | None = None,
    **parts: Any,
) -> Scenario:
    named = None if quirks is None else frozenset(quirk.value for quirk in quirks)
    workload = Traces(traces=traces(topology.ranks, write), groups=groups)
    parts.setdefault("collectives", collectives(dimensions=len(topology.dimensions)))
    return Scenario(workload=workload, topology=topology, quirks=named, **parts)


class Run:
    """A finished run; times in nanoseconds, exactly."""

    def __init__(self, model: Model, outcome: Any, warnings: list[str]) -> None:
        self.model = model
        self.outcome = outcome
        self.warnings = warnings

    def ns(self, ticks: int) -> Fraction:
        return Fraction(ticks, self.model.ticks_per_ns)

    @property
    def finish(self) -> list[Fraction]:
        return [self.ns(ticks) for ticks in self.outcome.finish]

    def span(self, rank: int, node: int) -> tuple[Fraction, Fraction]:
        at = self.outcome.first_node[rank] + node
        return self.ns(self.outcome.start[at]), self.ns(self.outcome.end[at])

    def bytes(self) -> list[int]:
        return [use.bytes for use in self.outcome.dimensions]

    def columns(self) -> tuple[Any, ...]:
        out = self.outcome
        uses = [(use.bytes, use.messages, use.busy_ticks) for use in out.dimensions]
        arrays = (out.finish, out.finish_order, out.compute_busy, out.start, out.end)
        counts = (out.events, out.messages, out.last_tick)
        return (*(array.tolist() for array in arrays), uses, link_rows(out), *counts)


def link_rows(outcome: _core.Outcome) -> list[tuple[int | None, ...]]:
    return [
        (
            link.dimension,
            link.source,
            link.destination,
            link.use.bytes,
            link.use.messages,
            link.use.busy_ticks,
        )
        for link in outcome.links
    ]


def run(topology: Topology, write: Write, **parts: Any) -> Run:
    model = compile(scenario(topology, write, **parts))
    warnings: list[str] = []
    return Run(model, run_native(model, warnings=warnings), warnings)


def write_result(path: Path, form: dict[str, Any]) -> None:
    text = json.dumps({key: value for key, value in form.items() if key != MEMBER})
    path.write_text("".join(seal_pieces([f"{text[:-1]}\n}}\n"])))
