"""A trace's accesses to remote memory in order, and the data of each.

A load is of the data an earlier store of its name stored, if it waits for one, else last accessed
under that name (without the verb). A store reuses its name's data if loaded since, or adds another
micro-batch's. Trade-off: accesses without common name or dependency are taken as different.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from yantra import _core
from yantra.chakra.schema import NODE_TRAITS, NodeType
from yantra.memory.migration import Touch

_INTEGER = 1
"""An integer attribute's kind (native/trace/graph.hpp)."""
_ACCESSES = {type for type, traits in NODE_TRAITS.items() if traits.lane == "memory"}


class Ordered(NamedTuple):
    """A graph's accesses by id: nodes, and the data of each.

    `names` names the data of `touches`.
    """

    nodes: list[int]
    touches: list[Touch]
    names: list[str]


def ordered(graph: _core.Graph) -> Ordered:
    """Accesses that state their bytes."""
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
        if kind in _ACCESSES and sized and sized[node] == _INTEGER:
            yield node, kind == NodeType.MEM_STORE


def _what(name: str) -> str:
    return name.partition(" ")[2] or name


def _stored_before(
    graph: _core.Graph, node: int, data_of_node: dict[int, int], names: list[str], name: str
) -> int | None:
    for at in range(graph.parent_begin[node], graph.parent_begin[node + 1]):
        data = data_of_node.get(graph.parent[at])
        if data is not None and names[data] == name:
            return data
    return None
