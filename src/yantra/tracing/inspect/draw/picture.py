"""Boxes and edges of a drawing, before any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.text import count, shortened
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.draw.large import Large, summary
from yantra.tracing.inspect.draw.links import Cut, Link, Links, cut
from yantra.tracing.inspect.draw.summary import Grouping, group, place_of
from yantra.tracing.inspect.surveyed import Seen

_WIDEST = 48


class Box(NamedTuple):
    """`key`: the (first) node's id, `lines`: text, `members`: number of nodes."""

    key: str
    lines: tuple[str, ...]
    kind: str
    lane: str
    members: int


class Edge(NamedTuple):
    """From box to box by position; stands for `links` edges of the trace."""

    source: int
    target: int
    control: bool
    links: int


class Picture(NamedTuple):
    boxes: list[Box]
    edges: list[Edge]
    notes: tuple[str, ...]
    lanes: bool


def drawing(
    trace: Seen,
    part: Cut | None = None,
    *,
    whole: bool = False,
    lanes: bool = False,
    plain: bool = False,
) -> Picture:
    """Draw a trace or a part of it.

    `whole`: a box per node, however many. `lanes`: group by thread, stream or communicator, as name
    summaries always do. `plain`: only names.
    """
    columns = Columns(trace)
    if part is None and not whole and (large := summary(columns)) is not None:
        return _large(columns, large, plain)
    links = Links(columns)
    nodes = cut(links, part or Cut())
    chosen = set(nodes)
    edges = [edge for edge in links.edges if edge.source in chosen and edge.target in chosen]
    grouping = group(links, nodes, edges, whole)
    return Picture(
        [_box(links, grouping, at, plain) for at in range(len(grouping.boxes))],
        _edges(grouping, edges),
        _notes(links, nodes, edges, grouping),
        lanes or bool(grouping.names),
    )


def _large(columns: Columns, large: Large, plain: bool) -> Picture:
    drawn = []
    for name, members in zip(large.names, large.members, strict=True):
        node, number, micros = members
        key, lane, kind = str(columns.id[node]), columns.lane[node], columns.kind[node]
        if plain and number == 1:
            drawn.append(Box(key, (columns.name(node),), kind, lane, 1))
            continue
        time = f", {micros} us" if micros else ""
        lines = shortened(name, _WIDEST), f"{count(number, 'node')}{time}"
        drawn.append(Box(key, lines, kind, lane, number))
    edges = [Edge(*ends, number) for ends, number in large.edges.items()]
    note = f"{count(columns.count, 'node')} as {boxes(len(drawn))}: {large.how}"
    return Picture(drawn, edges, (note,), lanes=True)


def _box(links: Links, grouping: Grouping, at: int, plain: bool) -> Box:
    members = grouping.boxes[at]
    first, last = members[0], members[-1]
    lane, kind = place_of(links, first)
    key = str(links.id_of(first))
    name = links.name_of(first)
    if plain and len(members) == 1:
        return Box(key, (name,), kind, lane, 1)
    time = _time(links, members)
    if grouping.names:
        numbers = f"{count(len(members), 'node')}{time}"
        return Box(key, (shortened(grouping.names[at], _WIDEST), numbers), kind, lane, len(members))
    if len(members) == 1:
        return Box(key, (shortened(name, _WIDEST), f"{key}{time}"), kind, lane, 1)
    lines = (
        shortened(name, _WIDEST),
        f"... {len(members)} in a row, {key} to {links.id_of(last)}{time} ...",
        shortened(links.name_of(last), _WIDEST),
    )
    return Box(key, lines, kind, lane, len(members))


def _time(links: Links, members: Sequence[int]) -> str:
    known = links.columns.count
    micros = sum(links.columns.duration[node] for node in members if node < known)
    return f", {micros} us" if micros else ""


def _edges(grouping: Grouping, edges: Sequence[Link]) -> list[Edge]:
    box_of = {node: box for box, members in enumerate(grouping.boxes) for node in members}
    counted = Counter(
        (box_of[edge.source], box_of[edge.target], edge.control)
        for edge in edges
        if box_of[edge.source] != box_of[edge.target] or not grouping.how
    )
    return [Edge(*ends, number) for ends, number in counted.items()]


def boxes(number: int) -> str:
    return f"{number} box{'' if number == 1 else 'es'}"


def _notes(
    links: Links, nodes: Sequence[int], edges: Sequence[Link], grouping: Grouping
) -> tuple[str, ...]:
    notes = []
    if len(nodes) < links.count:
        notes.append(
            f"{len(nodes)} of {count(links.count, 'node')}, "
            f"{len(edges)} of {count(len(links.edges), 'edge')}"
        )
    if grouping.how:
        notes.append(f"{count(len(nodes), 'node')} as {boxes(len(grouping.boxes))}: {grouping.how}")
    missing = sum(node >= links.columns.count for node in nodes)
    if missing:
        notes.append(f"{count(missing, 'node')} missing from the trace, drawn dashed")
    return tuple(notes)
