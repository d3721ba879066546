"""Level 4: merges chains of computations on a lane.

After transitive reduction, a node and its only child merge if that has no other parent, on the same
lane; durations, operations and bytes add up. All paths through one pass the other, so path lengths
stay exact. Communications, memory accesses and forks and joins between lanes never merge.
"""

from __future__ import annotations

from itertools import pairwise

from yantra.chakra.schema import Node, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.paths import topological
from yantra.tracing.obfuscate.quantise import lane_of

_SUMMED = ("num_ops", "tensor_size")


def coarsened(nodes: list[Node]) -> list[Node]:
    columns = Columns(Trace(nodes))
    parents = reduced_parents(columns)
    children: list[list[int]] = [[] for _ in parents]
    for child, before in enumerate(parents):
        for parent in before:
            children[parent].append(child)
    by_id = {node.id: node for node in nodes}
    ordered = [by_id[id] for id in columns.id]
    head = list(range(columns.count))
    for at in topological(columns):
        before = parents[at]
        if len(before) == 1 and len(children[before[0]]) == 1:
            first = ordered[head[before[0]]]
            if _mergeable(first, ordered[at]):
                _merge(first, ordered[at])
                head[at] = head[before[0]]
    ids = columns.id
    for at, node in enumerate(ordered):
        if head[at] == at:
            node.data_deps = sorted({ids[head[parent]] for parent in parents[at]})
            node.ctrl_deps = []
            node.name = "compute" if node.type == NodeType.COMP else node.name
            node.attributes = [item for item in node.attributes if item.name != "part"]
    return [node for at, node in enumerate(ordered) if head[at] == at]


def reduced_parents(columns: Columns) -> list[list[int]]:
    """Each node's parents without implied ones."""
    order = topological(columns)
    place = {node: at for at, node in enumerate(order)}
    left = [end - begin for begin, end in pairwise(columns.child_begin)]
    ancestors = [0] * columns.count
    result: list[list[int]] = [[] for _ in range(columns.count)]
    for node in order:
        covered = 0
        kept = []
        for parent in sorted(columns.parents(node), key=place.__getitem__, reverse=True):
            if not covered >> place[parent] & 1:
                kept.append(parent)
                covered |= ancestors[parent] | 1 << place[parent]
            left[parent] -= 1
            if not left[parent]:
                ancestors[parent] = 0
        result[node] = kept
        ancestors[node] = covered
    return result


def _mergeable(first: Node, second: Node) -> bool:
    return first.type == second.type == NodeType.COMP and lane_of(first) == lane_of(second)


def _merge(first: Node, second: Node) -> None:
    first.duration_micros += second.duration_micros
    for name in _SUMMED:
        values = [node.get(name) for node in (first, second)]
        if any(isinstance(value, int) for value in values):
            first.set(name, sum(value for value in values if isinstance(value, int)))
