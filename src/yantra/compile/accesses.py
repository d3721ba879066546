"""The accesses of a trace to memory beyond the device, in order, and which data each is of.

A trace does not say what an access is of. What it loads is what a store before it stored, where it
waits for one of the same name; else what was accessed last under that name, whatever the verb: the
first word of the name. A store reuses the data of its name that was loaded since it was stored (its
buffer is free again), or adds new data: another micro-batch's. Trade-off: accesses that share
neither a name nor a dependency are taken for different data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from yantra import _core
from yantra.chakra.schema import NodeType
from yantra.memory.migration import Touch

_INTEGER = 1
"""The kind of an attribute that is a whole number (native/trace/graph.hpp)."""


class Ordered(NamedTuple):
    """The accesses of a graph in the order of ids: the nodes, and what each is of.

    `names` calls the data of `touches`.
    """

    nodes: list[int]
    touches: list[Touch]
    names: list[str]


def ordered(graph: _core.Graph) -> Ordered:
    """Return the accesses of a graph, those that say how many bytes they move."""
    found = Ordered([], [], [])
    data_of_node: dict[int, int] = {}
    latest: dict[str, int] = {}
    reusable: dict[str, list[int]] = {}
    for node, is_store in _accesses(graph):
        name = _what(graph.name(node))
        data = None
        if is_store:
            free = reusable.get(name)
            data = free.pop() if free else None
        else:
            data = _stored_before(graph, node, data_of_node, found.names, name)
            data = latest.get(name) if data is None else data
        if data is None:
            data = len(found.names)
            found.names.append(name)
        if not is_store and data not in reusable.setdefault(name, []):
            reusable[name].append(data)
        latest[name] = data_of_node[node] = data
        found.nodes.append(node)
        found.touches.append(Touch(data, graph.tensor_size.value[node], is_store))
    return found


def _accesses(graph: _core.Graph) -> Iterator[tuple[int, bool]]:
    sized = graph.tensor_size.kind
    for node, kind in enumerate(graph.type):
        if kind in (NodeType.MEM_LOAD, NodeType.MEM_STORE) and sized and sized[node] == _INTEGER:
            yield node, kind == NodeType.MEM_STORE


def _what(name: str) -> str:
    """Return the name of an access without its verb."""
    return name.partition(" ")[2] or name


def _stored_before(
    graph: _core.Graph, node: int, data_of_node: dict[int, int], names: list[str], name: str
) -> int | None:
    for at in range(graph.parent_begin[node], graph.parent_begin[node + 1]):
        data = data_of_node.get(graph.parent[at])
        if data is not None and names[data] == name:
            return data
    return None
