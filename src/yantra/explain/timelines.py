"""When a few ranks of a result compute and communicate, as the page of a comparison draws it."""

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
"""Rows of a rank, by beginnings of node types."""

_MOST_RANKS = 4
_NEEDS = ("rank", "type", "start_ns", "end_ns")

Span = tuple[int, int]


class Lanes(NamedTuple):
    """A rank's spans by kind in units, ascending and apart; `busy` is their share of the run."""

    rank: int
    spans: dict[str, list[Span]]
    busy: dict[str, float]


def lanes_of(form: Form, longest_ns: float) -> list[Lanes]:
    nodes, ranks = table_in(form, "nodes"), table_in(form, "ranks")
    if nodes is None or ranks is None or not longest_ns:
        return []
    if any(column not in nodes.columns for column in _NEEDS):
        return []
    return [_lanes(nodes, rank, form["makespan_ns"], longest_ns) for rank in _chosen(len(ranks))]


def _chosen(ranks: int) -> list[int]:
    shown = min(ranks, _MOST_RANKS)
    return [ranks * at // shown for at in range(shown)]


def _lanes(nodes: Table, rank: int, makespan_ns: float, longest_ns: float) -> Lanes:
    import numpy as np

    from yantra.tracing.why.accounts import union

    first, past = _rows_of(nodes, rank)

    def cells(column: str) -> Any:
        return as_array(part_of(nodes.column(column), first, past), nodes.kind(column))

    types, starts, ends = cells("type"), cells("start_ns"), cells("end_ns")
    spans, busy = {}, {}
    for kind in KINDS:
        ran = np.char.startswith(types, kind) & np.isfinite(ends) if len(types) else np.array([])
        if not ran.any():
            continue
        joined = union(np.column_stack((starts[ran], ends[ran])))
        busy[kind] = (
            float((joined[:, 1] - joined[:, 0]).sum() / makespan_ns) if makespan_ns else 0.0
        )
        spans[kind] = _in_units(joined * (UNITS / longest_ns))
    return Lanes(rank, spans, busy)


def _rows_of(nodes: Table, rank: int) -> tuple[int, int]:
    column = nodes.column("rank")
    if isinstance(column, Gathered) and rank + 1 < len(column.begins):
        return column.begins[rank], column.begins[rank + 1]
    ranks = nodes.values("rank")
    return bisect_left(ranks, rank), bisect_right(ranks, rank)


def _in_units(spans: Sequence[Sequence[float]]) -> list[Span]:
    found: list[Span] = []
    for start, end in spans:
        begin, past = int(start), max(round(end), int(start) + 1)
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(past, found[-1][1]))
        else:
            found.append((begin, past))
    return found
