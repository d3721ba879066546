"""Collectives of all ranks of a cluster by size, as any job there runs them, beside the cut bound.

Trade-off: the bound is of up to `MOST_RANKS` ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Any, NamedTuple

from yantra.chakra import CollectiveType
from yantra.collectives.bandwidth import bus_rate, comm_size
from yantra.explain.collectives import Bounds, text_at, timed_at
from yantra.network import level_of
from yantra.run.collective_bench import Row
from yantra.run.simulate import simulate
from yantra.scenario.one_collective import collective_on
from yantra.scenario.settings import Settings


class Asked(NamedTuple):
    """A collective by size: of all ranks, or of one innermost domain if `ranks` is None."""

    kind: str
    sizes: Sequence[int]
    ranks: int | None
    chosen: dict[str, Any]
    settings: Settings


class Benched(NamedTuple):
    """The network of the cluster's jobs, a row for each size, and what measured times rest on."""

    network: str
    rows: list[Row]
    rests_on: str


def bench(
    cluster: str, asked: Asked, progress: Callable[[float, int], None] | None = None
) -> Benched:
    network, rows, rests_on = "", [], ""
    kind = CollectiveType[asked.kind.upper()]
    for done, size in enumerate(asked.sizes, 1):
        scenario = collective_on(cluster, kind, size, asked.ranks, asked.settings, **asked.chosen)
        network = level_of(scenario.network).name
        result = simulate(scenario)
        ranks, time_ns = scenario.topology.ranks, result.makespan_ns
        whole = tuple(range(len(scenario.topology.dimensions)))
        bounds = Bounds(scenario, result.model)
        stated = comm_size(asked.kind, size, ranks)
        per_byte = bounds.ns_per_byte(
            asked.kind, ranks, whole, 0, scenario.topology.dimensions[0].size
        )
        one = next(one for one in result.model.chosen if one.ranks == ranks)
        timed = timed_at(one, stated)
        off = exp(timed.interval) if timed is not None and timed.interval else None
        rests_on = "" if timed is None else timed.basis
        rows.append(
            Row(
                cluster,
                ranks,
                size,
                text_at(one, stated),
                time_ns,
                size / time_ns,
                bus_rate(asked.kind, ranks, size, time_ns),
                None if per_byte is None else per_byte * stated / time_ns,
                low_ns=None if off is None else time_ns / off,
                high_ns=None if off is None else time_ns * off,
            )
        )
        if progress is not None:
            progress(done, len(asked.sizes))
    return Benched(network, rows, rests_on)
