"""When a few ranks of a result compute and communicate, as the page of a comparison draws it.

Some ranks are drawn, at even distances, so that stages of a pipeline show. Each has a row for every
kind of node: the times at which at least one such node is under way. Receives have none, because
most are posted early and only wait.

Trade-off: times are whole units of the longest run, so gaps below one unit are not seen; a page of
any number of nodes stays small.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.export.stored import Form, table_in
from yantra.result import Table
from yantra.result.columns import Gathered, as_array, part_of

UNITS = 6000
"""Units of the longest run: twice the pixels of a wide screen."""

KINDS = ("COMP", "COMM_COLL", "COMM_SEND", "MEM")
"""The rows of a rank: what the types of their nodes begin with."""

_MOST_RANKS = 4
_NEEDS = ("rank", "type", "start_ns", "end_ns")

Span = tuple[int, int]


class Lanes(NamedTuple):
    """A rank: by kind the spans in units, ascending and apart; `busy` is their share of the run."""

    rank: int
    spans: dict[str, list[Span]]
    busy: dict[str, float]


def lanes_of(form: Form, longest_ns: float) -> list[Lanes]:
    """Return the ranks of a result that are drawn; none where it has no nodes or took no time."""
    nodes, ranks = table_in(form, "nodes"), table_in(form, "ranks")
    if nodes is None or ranks is None or not longest_ns:
        return []
    if any(column not in nodes.columns for column in _NEEDS):
        return []
    return [_lanes(nodes, rank, form["makespan_ns"], longest_ns) for rank in _chosen(len(ranks))]


def _chosen(ranks: int) -> list[int]:
    """Return ranks at even distances, the first among them."""
    shown = min(ranks, _MOST_RANKS)
    return [ranks * at // shown for at in range(shown)]


def _lanes(nodes: Table, rank: int, makespan_ns: float, longest_ns: float) -> Lanes:
    import numpy as np

    first, past = _rows_of(nodes, rank)

    def cells(column: str) -> Any:
        return as_array(part_of(nodes.column(column), first, past), nodes.kind(column))

    types, starts, ends = cells("type"), cells("start_ns"), cells("end_ns")
    spans, busy = {}, {}
    for kind in KINDS:
        ran = np.char.startswith(types, kind) & np.isfinite(ends) if len(types) else np.array([])
        if not ran.any():
            continue
        joined = _joined(starts[ran], ends[ran])
        busy[kind] = (
            float((joined[:, 1] - joined[:, 0]).sum() / makespan_ns) if makespan_ns else 0.0
        )
        spans[kind] = _in_units(joined * (UNITS / longest_ns))
    return Lanes(rank, spans, busy)


def _rows_of(nodes: Table, rank: int) -> tuple[int, int]:
    """Return the first row of a rank and the one past its last."""
    column = nodes.column("rank")
    if isinstance(column, Gathered) and rank + 1 < len(column.begins):
        return column.begins[rank], column.begins[rank + 1]
    ranks = nodes.values("rank")
    return bisect_left(ranks, rank), bisect_right(ranks, rank)


def _joined(starts: Any, ends: Any) -> Any:
    """Return spans that overlap or touch as one, ascending."""
    import numpy as np

    order = np.argsort(starts, kind="stable")
    starts, latest = starts[order], np.maximum.accumulate(ends[order])
    begins = np.concatenate(([True], starts[1:] > latest[:-1]))
    lasts = np.concatenate((begins[1:], [True]))
    return np.column_stack((starts[begins], latest[lasts]))


def _in_units(spans: Sequence[Sequence[float]]) -> list[Span]:
    """Return spans in whole units, those that meet there as one; none is shorter than a unit."""
    found: list[Span] = []
    for start, end in spans:
        begin, past = int(start), max(round(end), int(start) + 1)
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(past, found[-1][1]))
        else:
            found.append((begin, past))
    return found
