"""Where communication goes: collectives by kind, group and size, and messages between two ranks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.base.units import format_bandwidth, format_size
from yantra.chakra.schema import NodeType
from yantra.collectives.bandwidth import buffer_bytes, bus_rate
from yantra.export.report import bars
from yantra.export.report.bars import Piece
from yantra.export.report.classes import RankClass
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.nodes import integers
from yantra.export.report.run import Run
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.collectives import Members
from yantra.result.critical_path import kind_text
from yantra.result.tables import COLLECTIVE_KINDS, NEVER

PART_NAMES = {
    "waiting_peers": "waiting for peers",
    **{kind: kind_text(kind) for kind in ("queued", "latency", "wire", "hand_over")},
    "reducing": kind_text("reduction"),
}
_BARS = 24
_NS_PER_S = 1e9
_EVERYONE = ("", "0")
_BETWEEN_TWO = -2
_POINT_TO_POINT: dict[int, str] = {NodeType.COMM_SEND: "send", NodeType.COMM_RECV: "receive"}


class Row(NamedTuple):
    """Collectives of one kind, shape of group and size over all ranks; times in ticks."""

    kind: str
    group: str
    buffer_bytes: int
    ranks: int
    calls: int
    ticks: int
    shortest: int
    longest: int
    parts: tuple[int, ...]  # as COLLECTIVE_PARTS; empty for messages and without a recording


class _Static(NamedTuple):
    """`groups` are places among the graph's groups, -1 all ranks, -2 two ranks; `kind_of` places
    among the distinct `kinds` (kind, size, mask of dimensions).
    """

    nodes: Any
    groups: Any
    kinds: list[tuple[str, int, int]]
    kind_of: Any


def rows(run: Run) -> list[Row]:
    known: dict[tuple[str, str, int, int], Row] = {}
    shapes = _Shapes(run)
    graphs = [_static(graph.native) for graph in run.graphs]
    for one in run.classes:
        for row in _of_class(run, one, graphs[one.graph], shapes):
            key = row[:4]
            known[key] = _added(known[key], row) if key in known else row
    return sorted(known.values(), key=lambda row: (-row.ticks, row[:4]))


def _added(a: Row, b: Row) -> Row:
    return a._replace(
        calls=a.calls + b.calls,
        ticks=a.ticks + b.ticks,
        shortest=min(a.shortest, b.shortest),
        longest=max(a.longest, b.longest),
        parts=tuple(x + y for x, y in zip(a.parts, b.parts, strict=True)),
    )


def _of_class(run: Run, one: RankClass, static: _Static, shapes: _Shapes) -> Iterator[Row]:
    start, end = (times[static.nodes] for times in run.times(one))
    ran = end != np.uint64(NEVER)
    if not ran.any():
        return
    of_group = shapes.of(one)  # by place of the group + 2
    keys = static.kind_of * len(of_group) + static.groups + 2
    found, key_of = np.unique(keys[ran], return_inverse=True)
    order = np.argsort(key_of, kind="stable")
    begins = np.searchsorted(key_of[order], np.arange(len(found)))
    ticks = (end - start).astype(np.int64)[ran][order]
    sums, low, high = (of.reduceat(ticks, begins) for of in (np.add, np.minimum, np.maximum))
    counts = np.bincount(key_of)
    parts = _parts(run, one, static.nodes[ran][order], begins)
    members = Members(run.result.model, one.rank)
    for at, key in enumerate(found.tolist()):
        place, group = divmod(key, len(of_group))
        kind, size, involved = static.kinds[place]
        ranks = members.of(group - 1, involved) if group > 0 else 2
        yield Row(
            kind,
            of_group[group],
            buffer_bytes(kind, size, ranks),
            ranks,
            calls=int(counts[at]) * one.size,
            ticks=int(sums[at]) * one.size,
            shortest=int(low[at]),
            longest=int(high[at]),
            parts=tuple(int(part[at]) * one.size for part in parts) if group > 0 else (),
        )


def _parts(run: Run, one: RankClass, nodes: Any, begins: Any) -> list[Any]:
    if not run.result.recorded:
        return []
    places, every = run.collective_parts
    if not len(places):
        return [np.zeros(len(begins), dtype=np.int64) for _ in COLLECTIVE_PARTS]
    rows = np.minimum(np.searchsorted(places, nodes + one.first), len(places) - 1)
    known = places[rows] == nodes + one.first
    return [np.add.reduceat(np.where(known, values[rows], 0), begins) for values in every]


def _sums(alike: Iterable[Row]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*(row.parts for row in alike), strict=True))


class _Shapes:
    def __init__(self, run: Run) -> None:
        self._graphs = run.result.model.graphs
        self._groups = run.result.model.groups
        self._known = dict.fromkeys(_EVERYONE, _shape(range(run.result.model.ranks)))

    def of(self, one: RankClass) -> list[str]:
        names = self._graphs.group_names(one.rank)
        for name in names:
            if name not in self._known:
                self._known[name] = _shape(_members(self._groups, name))
        return ["", self._known[""], *(self._known[name] for name in names)]


def section(run: Run) -> Html:
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
    gathered: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        if row.parts:
            gathered.setdefault((row.kind, row.group), []).append(row)
    if not gathered:
        return None
    ranks = run.result.model.ranks
    drawn, used = [], set()
    for (kind, group), alike in gathered.items():
        sums = _sums(alike)
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
        Head("size", about="of the whole buffer, as nccl-tests count it"),
        Head("calls", about="over all ranks"),
        Head("mean"),
        Head("shortest"),
        Head("longest"),
        Head("per rank", about="mean over all ranks of the time of all calls"),
        Head("algorithm bandwidth", about="size over mean time"),
        Head("bus bandwidth", about="the same times the factor of nccl-tests: the rate of a link"),
    ]
    ranks = run.result.model.ranks
    recorded = any(row.parts for row in found)
    if recorded:
        heads.append(Head("of which", False))
    return table(name, heads, [_cells(run, row, ranks, recorded) for row in found])


def _cells(run: Run, row: Row, ranks: int, recorded: bool) -> list[Cell | str]:
    mean = row.ticks / row.calls
    rate = row.buffer_bytes / run.ns(mean) * _NS_PER_S if mean else 0.0
    bus = bus_rate(row.kind, row.ranks, row.buffer_bytes, run.ns(mean)) * _NS_PER_S if mean else 0.0
    return [
        _spoken(row.kind),
        row.group,
        Cell(format_size(row.buffer_bytes), row.buffer_bytes),
        Cell(f"{row.calls:,}", row.calls),
        Cell(run.told(mean), mean),
        Cell(run.told(row.shortest), row.shortest),
        Cell(run.told(row.longest), row.longest),
        Cell(run.told(row.ticks / ranks), row.ticks),
        Cell(format_bandwidth(rate) if rate else "", rate),
        Cell(format_bandwidth(bus) if bus > 0 else "", bus if bus > 0 else 0.0),
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


def _members(groups: Sequence[tuple[int, Sequence[int]]], name: str) -> Sequence[int]:
    return groups[bisect_left(groups, int(name), key=lambda group: group[0])][1]


def _static(graph: _core.Graph) -> _Static:
    comm_type, size = integers(graph, "comm_type"), integers(graph, "comm_size")
    group = graph.pg_name.tolist()
    nodes, groups, places = [], [], []
    kinds: dict[tuple[str, int, int], int] = {}
    involved = graph.involved_mask
    for node, node_type in enumerate(graph.type.tolist()):
        if node_type == NodeType.COMM_COLL:
            kind = _kind(comm_type[node])
            groups.append(group[node])
        elif node_type in _POINT_TO_POINT:
            kind = _POINT_TO_POINT[node_type]
            groups.append(_BETWEEN_TWO)
        else:
            continue
        nodes.append(node)
        mask = involved[node] if len(involved) else 0
        places.append(kinds.setdefault((kind, size[node] or 0, mask), len(kinds)))
    whose, where, which = (np.array(column, dtype=np.int64) for column in (nodes, groups, places))
    return _Static(whose, where, list(kinds), which)


def _kind(number: int | None) -> str:
    known = number is not None and 0 <= number < len(COLLECTIVE_KINDS)
    return COLLECTIVE_KINDS[number] if known and number is not None else "unknown"


def _shape(ranks: Any) -> str:
    steps = {after - before for before, after in pairwise(ranks)}
    if len(steps) == 1 and steps != {1}:
        return f"{len(ranks)} ranks, {steps.pop()} apart"
    many = f"{len(ranks):,} ranks" if len(ranks) != 1 else "1 rank"
    return many if len(steps) <= 1 else f"{many}, not evenly apart"
