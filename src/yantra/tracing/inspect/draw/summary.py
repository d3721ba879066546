"""Which nodes of a large graph share a box: first chains of one lane and kind, then a lane's nodes
of one name, where cycles may appear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from yantra.tracing.inspect.draw.links import Link, Links
from yantra.tracing.inspect.names import normalised

MOST_BOXES = 200
MOST_EDGES = 800
OTHERS = "others"


class Grouping(NamedTuple):
    """Each box's nodes in order, name, and how boxes were made."""

    boxes: list[list[int]]
    names: list[str]
    how: str


def group(links: Links, nodes: Sequence[int], edges: Sequence[Link], whole: bool) -> Grouping:
    if whole or (len(nodes) <= MOST_BOXES and len(edges) <= MOST_EDGES):
        return Grouping([[node] for node in nodes], [], "")
    chains = _chains(links, nodes, edges)
    if len(chains) <= MOST_BOXES and _edges_between(chains, edges) <= MOST_EDGES:
        return Grouping(chains, [], "chains of nodes drawn as one box")
    return _classes(links, nodes, edges)


def _edges_between(boxes: list[list[int]], edges: Sequence[Link]) -> int:
    box_of = {node: box for box, members in enumerate(boxes) for node in members}
    return len(
        {
            (box_of[edge.source], box_of[edge.target], edge.control)
            for edge in edges
            if box_of[edge.source] != box_of[edge.target]
        }
    )


def _chains(links: Links, nodes: Sequence[int], edges: Sequence[Link]) -> list[list[int]]:
    after: dict[int, set[int]] = {}
    before: dict[int, set[int]] = {}
    for source, target, _ in edges:
        after.setdefault(source, set()).add(target)
        before.setdefault(target, set()).add(source)
    chain_of: dict[int, list[int]] = {}
    boxes = []
    for node in _ordered(nodes, before, after):
        parents = before.get(node, set())
        parent = next(iter(parents)) if len(parents) == 1 else None
        joins = (
            parent is not None
            and parent in chain_of
            and chain_of[parent][-1] == parent
            and len(after[parent]) == 1
            and place_of(links, parent) == place_of(links, node)
        )
        if joins and parent is not None:
            chain_of[node] = chain_of[parent]
            chain_of[node].append(node)
        else:
            chain_of[node] = [node]
            boxes.append(chain_of[node])
    return boxes


def _ordered(
    nodes: Sequence[int], before: dict[int, set[int]], after: dict[int, set[int]]
) -> list[int]:
    left = {node: len(before.get(node, ())) for node in nodes}
    order = [node for node in nodes if left[node] == 0]
    for node in order:  # grows
        for later in after.get(node, ()):
            left[later] -= 1
            if left[later] == 0:
                order.append(later)
    placed = set(order)
    return order + [node for node in nodes if node not in placed]


def place_of(links: Links, node: int) -> tuple[str, str]:
    columns = links.columns
    if node >= columns.count:
        return "missing", "missing"
    return columns.lane[node], columns.kind[node]


Class = tuple[str, str, str]  # lane, kind, name


def plain_name(name: str) -> str:
    return normalised(name) or "(no name)"


def _classes(links: Links, nodes: Sequence[int], edges: Sequence[Link]) -> Grouping:
    plain: dict[str, str] = {}
    own: dict[int, Class] = {}
    for node in nodes:
        name = links.name_of(node)
        if name not in plain:
            plain[name] = plain_name(name)
        own[node] = (*place_of(links, node), plain[name])
    weights: Counter[Class] = Counter()
    sizes = Counter(own.values())
    for node in nodes:
        if node < links.columns.count:
            weights[own[node]] += links.columns.duration[node]
    order = ranked(sizes, lambda key: (-weights[key], -sizes[key]))
    key_of = merged(order, {(own[edge.source], own[edge.target], edge.control) for edge in edges})
    boxes: dict[Class, list[int]] = {}
    for node in nodes:
        boxes.setdefault(key_of[own[node]], []).append(node)
    names = [key[2] for key in boxes]
    return Grouping(list(boxes.values()), names, how_merged(len(boxes), len(sizes)))


def ranked(classes: Iterable[Class], rank: Callable[[Class], tuple[int, int]]) -> list[Class]:
    return sorted(classes, key=lambda key: (rank(key), key))


def merged(order: list[Class], links: Collection[tuple[Class, Class, bool]]) -> dict[Class, Class]:
    """The class in whose box each class is drawn: as many of the first as there is room for."""
    budget = MOST_BOXES
    while True:
        found = _merged(order, budget)
        pairs = {(found[source], found[target], control) for source, target, control in links}
        if budget < 0 or (len(set(found.values())) <= MOST_BOXES and len(pairs) <= MOST_EDGES):
            return found
        budget = budget // 2 if budget > 1 else budget - 1


def _merged(order: list[Class], budget: int) -> dict[Class, Class]:
    if budget < 0:
        return {key: ("all lanes", key[1], OTHERS) for key in order}
    kept = set(order[:budget])
    return {key: key if key in kept else (*key[:2], OTHERS) for key in order}


def how_merged(boxes: int, classes: int) -> str:
    others = "" if boxes == classes else f", the smaller ones of {classes} names as {OTHERS}"
    return f"nodes of one name and lane drawn as one box{others}"
