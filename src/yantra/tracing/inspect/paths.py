"""Topological order, depth, width and critical path of a graph.

Nodes in or behind a cycle are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from yantra.tracing.inspect.columns import Columns


class Path(NamedTuple):
    """The longest chain by recorded time, and the graph's shape.

    `nodes`: first to last; `length`: in us. `depth`: nodes of the longest chain, `width`: most
    nodes of one depth. `cyclic`: nodes left out.
    """

    nodes: list[int]
    length: int
    depth: int
    width: int
    cyclic: int


def topological(columns: Columns) -> list[int]:
    waiting = _parent_counts(columns)
    child_begin, child = columns.child_begin, columns.child
    order = [node for node, count in enumerate(waiting) if count == 0]
    for node in order:  # grows
        for after in child[child_begin[node] : child_begin[node + 1]]:
            waiting[after] -= 1
            if waiting[after] == 0:
                order.append(after)
    return order


def issue_order(columns: Columns) -> list[int]:
    waiting = _parent_counts(columns)
    ready = [node for node, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for after in columns.children(node):
            waiting[after] -= 1
            if waiting[after] == 0:
                heappush(ready, after)
    return order


def critical_path(columns: Columns, duration: Sequence[int] | None = None) -> Path:
    """The longest path, through the lowest ids on ties, by recorded or given durations.

    Dynamic programming over a topological order.
    """
    lasts = columns.duration if duration is None else duration
    order = topological(columns)
    end = [0] * columns.count
    depth = [0] * columns.count
    before = [-1] * columns.count
    parent_begin, parent = columns.parent_begin, columns.parent
    for node in order:
        latest, deepest, chosen = -1, 0, -1
        for other in parent[parent_begin[node] : parent_begin[node + 1]]:
            if end[other] > latest or (end[other] == latest and other < chosen):
                latest, chosen = end[other], other
            if depth[other] > deepest:
                deepest = depth[other]
        before[node] = chosen
        end[node] = max(latest, 0) + lasts[node]
        depth[node] = deepest + 1
    widths: dict[int, int] = {}
    for node in order:
        widths[depth[node]] = widths.get(depth[node], 0) + 1
    nodes = _chain(before, min(order, key=lambda node: (-end[node], node), default=-1))
    return Path(
        nodes,
        end[nodes[-1]] if nodes else 0,
        max(widths, default=0),
        max(widths.values(), default=0),
        columns.count - len(order),
    )


def _chain(before: list[int], last: int) -> list[int]:
    nodes = []
    while last >= 0:
        nodes.append(last)
        last = before[last]
    return nodes[::-1]


def _parent_counts(columns: Columns) -> list[int]:
    begin = columns.parent_begin
    return [end - start for start, end in pairwise(begin)]
