"""Where communication goes: collectives by kind, group and size, and messages between two ranks.

Rows are gathered over classes, each counted as often as it has ranks, so the sums equal those of
`Result.collectives`. A group is told by its number of ranks and the distance between neighbours.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.export.report.markup import Cell, Head, Html, join, table
from yantra.export.report.nodes import integers
from yantra.export.report.run import Run
from yantra.result.tables import COLLECTIVE_KINDS
from yantra.units import format_bandwidth, format_size, format_time

_NS_PER_S = 1e9
_EVERYONE = ("", "0")
_POINT_TO_POINT = {NodeType.COMM_SEND: "send", NodeType.COMM_RECV: "receive"}


class Row(NamedTuple):
    """Collectives of one kind, shape of group and size over all ranks; times in ticks."""

    kind: str
    group: str
    size_bytes: int
    calls: int
    ticks: int
    shortest: int
    longest: int


def rows(run: Run) -> list[Row]:
    """Return collectives and messages, those that take longest in all first."""
    sums: dict[tuple[str, str, int], list[int]] = {}
    for weight, kind, group, size, ticks in _calls(run):
        known = sums.setdefault((kind, group, size), [0, 0, ticks, ticks])
        known[0] += weight
        known[1] += weight * ticks
        known[2] = min(known[2], ticks)
        known[3] = max(known[3], ticks)
    found = [Row(*key, *values) for key, values in sums.items()]
    return sorted(found, key=lambda row: (-row.ticks, row[:3]))


def section(run: Run) -> Html:
    """Return the tables of collectives and of messages."""
    found = rows(run)
    pairs = [row for row in found if row.kind in _POINT_TO_POINT.values()]
    collectives = [row for row in found if row.kind not in _POINT_TO_POINT.values()]
    return join(
        [
            _table(run, "Collectives by kind, group and size, over all ranks", collectives),
            _table(run, "Messages between two ranks", pairs) if pairs else None,
        ]
    )


def _table(run: Run, name: str, found: list[Row]) -> Html:
    heads = [
        Head("kind", False),
        Head("group", False),
        Head("size", about="of the whole buffer of a rank; for an all-gather of its part"),
        Head("calls", about="over all ranks"),
        Head("mean"),
        Head("shortest"),
        Head("longest"),
        Head("per rank", about="mean over all ranks of the time of all calls"),
        Head("algorithm bandwidth", about="size over mean time"),
    ]
    ranks = run.result.model.ranks
    return table(name, heads, [_cells(run, row, ranks) for row in found])


def _cells(run: Run, row: Row, ranks: int) -> list[Cell | str]:
    mean = row.ticks / row.calls
    rate = row.size_bytes / run.ns(mean) * _NS_PER_S if mean else 0.0
    return [
        row.kind.replace("_", "-"),
        row.group,
        Cell(format_size(row.size_bytes), row.size_bytes),
        Cell(f"{row.calls:,}", row.calls),
        Cell(format_time(run.ns(mean)), mean),
        Cell(format_time(run.ns(row.shortest)), row.shortest),
        Cell(format_time(run.ns(row.longest)), row.longest),
        Cell(format_time(run.ns(row.ticks / ranks)), row.ticks),
        Cell(format_bandwidth(rate) if rate else "", rate),
    ]


def _calls(run: Run) -> Iterator[tuple[int, str, str, int, int]]:
    """Yield number of ranks, kind, group, size and ticks of each call of each class."""
    shapes = dict.fromkeys(_EVERYONE, _shape(range(run.result.model.ranks)))
    groups = run.result.model.groups
    of_graph = [_communication_of(graph.native) for graph in run.graphs]
    for one in run.classes:
        calls = of_graph[one.graph]
        names = run.result.model.graphs.group_names(one.rank)
        for node, start, end in run.ran(one):
            if node in calls:
                kind, group, size = calls[node]
                between_two = group is None
                name = names[group] if not between_two and group >= 0 else ""
                if name not in shapes:
                    shapes[name] = _shape(_members(groups, name))
                shape = "" if between_two else shapes[name]
                yield one.size, kind, shape, size, end - start


def _members(groups: Sequence[tuple[int, Sequence[int]]], name: str) -> Sequence[int]:
    """Return the ranks of a group; the groups ascend by id."""
    return groups[bisect_left(groups, int(name), key=lambda group: group[0])][1]


def _communication_of(graph: Any) -> dict[int, tuple[str, Any, int]]:
    """Return kind, place of the group (None between two ranks) and size of nodes that do."""
    comm_type, size = integers(graph, "comm_type"), integers(graph, "comm_size")
    groups = graph.pg_name.tolist()
    found: dict[int, tuple[str, Any, int]] = {}
    for node, node_type in enumerate(graph.type.tolist()):
        if node_type == NodeType.COMM_COLL:
            found[node] = _kind(comm_type[node]), groups[node], size[node] or 0
        elif node_type in _POINT_TO_POINT:
            found[node] = _POINT_TO_POINT[node_type], None, size[node] or 0
    return found


def _kind(number: int | None) -> str:
    known = number is not None and 0 <= number < len(COLLECTIVE_KINDS)
    return COLLECTIVE_KINDS[number] if known and number is not None else "unknown"


def _shape(ranks: Any) -> str:
    """Return `8 ranks`, or `4 ranks, 8 apart`."""
    steps = {after - before for before, after in pairwise(ranks)}
    if len(steps) == 1 and steps != {1}:
        return f"{len(ranks)} ranks, {steps.pop()} apart"
    many = f"{len(ranks):,} ranks" if len(ranks) != 1 else "1 rank"
    return many if len(steps) <= 1 else f"{many}, not evenly apart"
