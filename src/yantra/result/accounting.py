"""Columns that say where time went beyond when it went: overlap, slack, the parts of collectives.

docs/reference/accounting.md defines them. All but the overlap need a recorded run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import Any

from yantra.compile import Model
from yantra.result.recording import Recording
from yantra.result.table import Column, Table
from yantra.result.tables import nanoseconds

COLLECTIVE_PARTS = ("waiting_peers", "queued", "latency", "wire", "hand_over", "reducing")
"""Where the time of a collective goes on a rank; with `_ns` these are columns."""


def with_overlap(ranks: Table) -> Table:
    """Add `overlap_ns`: communication under way while a kernel runs.

    It is `communication_ns` less `exposed_communication_ns`, so it adds to neither the five parts
    nor the finish.
    """

    def overlap() -> list[Any]:
        both = (ranks.values("communication_ns"), ranks.values("exposed_communication_ns"))
        return [_tidy(total - exposed) for total, exposed in zip(*both, strict=True)]

    return _extended(ranks, {"overlap_ns": ("real", overlap)})


def with_slack(nodes: Table, model: Model, outcome: Any, recording: Recording) -> Table:
    """Add `slack_ns`: how much later the node could have ended with the makespan unchanged."""

    def slack() -> list[Any]:
        ticks = recording.slack_ticks
        values = []
        for rank in range(model.ranks):
            first = outcome.first_node[rank]
            of_rank = ticks[first : first + len(model.graphs.of(rank))]
            values += [nanoseconds(tick, model.ticks_per_ns) for tick in of_rank]
        return values

    return _extended(nodes, {"slack_ns": ("real", slack)})


def with_parts(collectives: Table, model: Model, outcome: Any, recording: Recording) -> Table:
    """Add the parts of each collective's time; they add up to `end_ns - start_ns` exactly."""

    def part(name: str) -> Callable[[], list[Any]]:
        def make() -> list[Any]:
            parts = recording.collective_parts
            ticks = getattr(parts, name)
            values = []
            for rank in range(model.ranks):
                first = outcome.first_node[rank]
                begin = bisect_left(parts.place, first)
                end = bisect_left(parts.place, first + len(model.graphs.of(rank)))
                values += [nanoseconds(tick, model.ticks_per_ns) for tick in ticks[begin:end]]
            return values

        return make

    return _extended(collectives, {f"{name}_ns": ("real", part(name)) for name in COLLECTIVE_PARTS})


def _extended(table: Table, columns: Mapping[str, Column]) -> Table:
    def same(name: str) -> Column:
        return (table.kind(name), lambda: table.values(name))

    kept = {name: same(name) for name in table.columns}
    return Table(table.name, len(table), kept | dict(columns))


def _tidy(ns: float) -> float:
    """Return a difference of times without what their binary fractions left over."""
    picoseconds = round(ns * 1000)
    return picoseconds / 1000 if picoseconds % 1000 else picoseconds // 1000
