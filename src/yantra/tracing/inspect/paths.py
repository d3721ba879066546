"""Orders and paths of a graph: topological order, depth, width, the critical path.

All linear in nodes and edges. Nodes in a cycle, and those behind one, have no place in any order;
they are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from yantra.tracing.inspect.columns import Columns


class Path(NamedTuple):
    """The longest chain of dependent nodes by recorded time, and the shape of the graph.

    `nodes` run from the first to the last; `length` is the sum of their durations in us. `depth`
    counts the nodes of the chain with most nodes, `width` the most nodes of one depth. `cyclic`
    counts the nodes left out.
    """

    nodes: list[int]
    length: int
    depth: int
    width: int
    cyclic: int


def topological(columns: Columns) -> list[int]:
    """Return nodes so that parents come first; without those in or behind a cycle."""
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
    """Return the order in which one worker that takes the lowest ready id runs the nodes."""
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
    """Find the longest path; `duration` replaces the recorded durations.

    The longest path of a directed acyclic graph by dynamic programming over a topological order.
    Of equal paths the one through the lowest ids is told.
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
