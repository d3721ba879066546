"""Topological order, depth, width and critical path of a graph.

Nodes in or behind a cycle are left out and counted.
"""

from __future__ import annotations

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


def issue_order(columns: Columns) -> memoryview:
    """Nodes as a single worker begins them: of those that are ready, the lowest."""
    return memoryview(columns.graph.issue_order()).cast("I")


def critical_path(columns: Columns) -> Path:
    """The longest path by recorded durations, through the lowest ids on ties."""
    nodes, high, low, *shape = columns.graph.longest_path()
    return Path(memoryview(nodes).cast("I").tolist(), (high << 64) + low, *shape)


def _parent_counts(columns: Columns) -> list[int]:
    begin = columns.parent_begin
    return [end - start for start, end in pairwise(begin)]
