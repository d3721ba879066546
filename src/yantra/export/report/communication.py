"""Where communication goes: collectives by kind, group and size, and messages between two ranks.

Rows are gathered over classes, each counted as often as it has ranks, so the sums equal those of
`Result.collectives`. A group is told by its number of ranks and the distance between neighbours. Of
a recorded run each row also says where its time goes (docs/reference/accounting.md).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.export.report import bars
from yantra.export.report.bars import Piece
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.nodes import integers
from yantra.export.report.run import Run
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.tables import COLLECTIVE_KINDS
from yantra.units import format_bandwidth, format_size

PART_NAMES = {
    "waiting_peers": "waiting for peers",
    "queued": "queued",
    "latency": "latency",
    "wire": "wire",
    "hand_over": "hand-over",
    "reducing": "reducing",
}
_BARS = 24
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
    parts: tuple[int, ...]  # as COLLECTIVE_PARTS; empty of messages and where nothing is recorded


class _Call(NamedTuple):
    """One call of a class: `ranks` make it; `place` is that of its node in the outcome."""

    ranks: int
    key: tuple[str, str, int]
    ticks: int
    place: int


def rows(run: Run) -> list[Row]:
    """Return collectives and messages, those that take longest in all first."""
    parts = _parts(run)
    gathered: dict[tuple[str, str, int], list[_Call]] = {}
    for call in _calls(run):
        gathered.setdefault(call.key, []).append(call)
    found = [_row(key, calls, parts) for key, calls in gathered.items()]
    return sorted(found, key=lambda row: (-row.ticks, row[:3]))


def _row(key: tuple[str, str, int], calls: list[_Call], parts: dict[int, tuple[int, ...]]) -> Row:
    each = [(call.ranks, parts[call.place]) for call in calls if call.place in parts]
    return Row(
        *key,
        calls=sum(call.ranks for call in calls),
        ticks=sum(call.ranks * call.ticks for call in calls),
        shortest=min(call.ticks for call in calls),
        longest=max(call.ticks for call in calls),
        parts=_sums(each),
    )


def _sums(each: Iterable[tuple[int, tuple[int, ...]]]) -> tuple[int, ...]:
    """Return the sum of parts, each counted so many times."""
    columns = zip(*([count * part for part in parts] for count, parts in each), strict=True)
    return tuple(sum(column) for column in columns)


def _parts(run: Run) -> dict[int, tuple[int, ...]]:
    """Return where the time of each collective goes, by its place in the outcome."""
    if not run.result.recorded:
        return {}
    columns = run.result.recording.collective_parts
    rows = zip(*(getattr(columns, name) for name in COLLECTIVE_PARTS), strict=True)
    return dict(zip(columns.place, rows, strict=True))


def section(run: Run) -> Html:
    """Return where the time of collectives goes, and the tables of collectives and messages."""
    found = rows(run)
    pairs = [row for row in found if row.kind in _POINT_TO_POINT.values()]
    collectives = [row for row in found if row.kind not in _POINT_TO_POINT.values()]
    return join(
        [
            _breakdown(run, collectives),
            _table(run, "Collectives by kind, group and size, over all ranks", collectives),
            _table(run, "Messages between two ranks", pairs) if pairs else None,
        ]
    )


def _breakdown(run: Run, found: list[Row]) -> Html | None:
    """Return a bar for each kind of collective and shape of group."""
    gathered: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        if row.parts:
            gathered.setdefault((row.kind, row.group), []).append(row)
    if not gathered:
        return None
    ranks = run.result.model.ranks
    drawn, used = [], set()
    for (kind, group), alike in gathered.items():
        sums = _sums((1, row.parts) for row in alike)
        used |= {at for at, ticks in enumerate(sums) if ticks}
        pieces = [
            Piece(PART_NAMES[name], name, ticks / ranks)
            for name, ticks in zip(COLLECTIVE_PARTS, sums, strict=True)
        ]
        about = f"{group}, {run.told(sum(sums) / ranks)} per rank"
        drawn.append(bars.row(_spoken(kind), about, pieces, sum(sums) / ranks, run.told))
    keys = [(PART_NAMES[name], name) for at, name in enumerate(COLLECTIVE_PARTS) if at in used]
    return join([bars.legend(keys), element("div", *drawn[:_BARS], class_="bars wide")])


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
    recorded = any(row.parts for row in found)
    if recorded:
        heads.append(Head("of which", False))
    return table(name, heads, [_cells(run, row, ranks, recorded) for row in found])


def _cells(run: Run, row: Row, ranks: int, recorded: bool) -> list[Cell | str]:
    mean = row.ticks / row.calls
    rate = row.size_bytes / run.ns(mean) * _NS_PER_S if mean else 0.0
    return [
        _spoken(row.kind),
        row.group,
        Cell(format_size(row.size_bytes), row.size_bytes),
        Cell(f"{row.calls:,}", row.calls),
        Cell(run.told(mean), mean),
        Cell(run.told(row.shortest), row.shortest),
        Cell(run.told(row.longest), row.longest),
        Cell(run.told(row.ticks / ranks), row.ticks),
        Cell(format_bandwidth(rate) if rate else "", rate),
        *([_of_which(row)] if recorded else []),
    ]


def _of_which(row: Row) -> str:
    pairs = sorted(zip(row.parts, COLLECTIVE_PARTS, strict=False), reverse=True)
    return ", ".join(
        f"{PART_NAMES[name]} {100 * ticks / row.ticks:.0f} %"
        for ticks, name in pairs
        if ticks >= 0.005 * row.ticks > 0
    )


def _spoken(kind: str) -> str:
    return kind.replace("_", "-")


def _calls(run: Run) -> Iterator[_Call]:
    """Yield each call of each class."""
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
                yield _Call(one.size, (kind, shape, size), end - start, one.first + node)


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
