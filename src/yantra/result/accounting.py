"""Columns that say where time went: overlap, slack, the parts of collectives.

All but the overlap need a recorded run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from yantra import _core
from yantra.compile import Model
from yantra.result.collectives import by_collective
from yantra.result.columns import Gathered
from yantra.result.recording import Recording
from yantra.result.table import Table
from yantra.result.tables import node_times

COLLECTIVE_PARTS = ("waiting_peers", "queued", "latency", "wire", "hand_over", "reducing")
"""Parts of a collective's time on a rank; with `_ns` these are columns."""


def with_overlap(ranks: Table) -> Table:
    """Add `overlap_ns`, communication while a kernel runs: `communication_ns -
    exposed_communication_ns`.
    """

    def overlap() -> list[Any]:
        both = (ranks.values("communication_ns"), ranks.values("exposed_communication_ns"))
        return [_tidy(total - exposed) for total, exposed in zip(*both, strict=True)]

    return ranks.extended({"overlap_ns": ("real", overlap)})


def with_slack(nodes: Table, model: Model, outcome: _core.Outcome, recording: Recording) -> Table:
    """Add `slack_ns`: how much later a node could end at the same makespan."""

    return nodes.extended(
        {"slack_ns": ("real", lambda: node_times(model, outcome, recording.slack_ticks))}
    )


def with_parts(
    collectives: Table, model: Model, outcome: _core.Outcome, recording: Recording
) -> Table:
    """Add parts of each collective's time; they sum to `end_ns - start_ns`."""

    def part(name: str) -> Callable[[], Gathered]:
        def make() -> Gathered:
            parts = recording.collective_parts
            ticks: memoryview[int] = getattr(parts, name)
            place, first_node = parts.place, outcome.first_node

            def stretch(rank: int) -> memoryview[int]:
                first = first_node[rank]
                begin = bisect_left(place, first)
                end = bisect_left(place, first + len(model.graphs.of(rank)))
                return ticks[begin:end]

            return by_collective(model, outcome, stretch)

        return make

    return collectives.extended({f"{name}_ns": ("real", part(name)) for name in COLLECTIVE_PARTS})


def _tidy(ns: float) -> float:
    picoseconds = round(ns * 1000)
    return picoseconds / 1000 if picoseconds % 1000 else picoseconds // 1000
