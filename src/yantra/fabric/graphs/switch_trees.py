"""Trees of switches over ranks, for collectives in the network: fewest levels, sharing no switch.

Trade-off: chosen one by one, so more may exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.errors import UnsupportedError
from yantra.collectives.switch_tree import Tree
from yantra.fabric.graphs.graph import DeviceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.fabric.graphs.graph import Graph

MOST_SWITCHES = 1024
"""Switches up to which trees are looked for: a search of the fabric from each of them."""


def trees_of(graph: Graph, ranks: Sequence[int] | None = None) -> tuple[Tree, ...]:
    """Return the trees over some ranks or all, if any.

    Raises UnsupportedError for too many switches.
    """
    members = frozenset(range(graph.ranks) if ranks is None else ranks)
    switches = [at for at in range(graph.ranks, graph.devices) if is_switch(graph, at)]
    if len(switches) > MOST_SWITCHES:
        raise UnsupportedError(
            f"trees are found in fabrics of up to {MOST_SWITCHES} switches; got {len(switches)}"
        )
    beside = cables_of(graph)
    found = [tree for at in switches if (tree := _tree(graph, beside, at, members)) is not None]
    least = min((tree.depth for tree in found), default=0)
    taken: set[str] = set()
    chosen = []
    for tree in found:
        names = {one.switch for one in tree.walk()}
        if tree.depth == least and not names & taken:
            taken |= names
            chosen.append(tree)
    return tuple(chosen)


def is_switch(graph: Graph, device: int) -> bool:
    return bool(graph.kinds[device] == DeviceKind.SWITCH)


def cables_of(graph: Graph) -> list[list[int]]:
    pairs = set(zip(graph.links.start.tolist(), graph.links.end.tolist(), strict=True))
    beside: list[list[int]] = [[] for _ in range(graph.devices)]
    for start, end in sorted(pairs):
        if (end, start) in pairs:
            beside[start].append(end)
    return beside


def _tree(graph: Graph, beside: list[list[int]], root: int, members: frozenset[int]) -> Tree | None:
    above: dict[int, int] = {root: root}
    ranks: dict[int, list[int]] = {}
    children: dict[int, list[int]] = {}
    level = [root]
    while level:
        following = []
        for device in level:
            # Behind a network card counts as below its switch.
            at = device if is_switch(graph, device) else above[device]
            for other in beside[device]:
                if other in above:
                    continue
                above[other] = at
                if other < graph.ranks:
                    if other in members:
                        ranks.setdefault(at, []).append(other)
                    continue
                following.append(other)
                if is_switch(graph, other):
                    children.setdefault(at, []).append(other)
        level = following
    if sum(map(len, ranks.values())) < len(members):
        return None
    return _made(graph, ranks, children, root)


def _made(
    graph: Graph, ranks: dict[int, list[int]], children: dict[int, list[int]], at: int
) -> Tree | None:
    below = (_made(graph, ranks, children, child) for child in children.get(at, ()))
    kept = tuple(one for one in below if one is not None)
    own = tuple(ranks.get(at, ()))
    if len(kept) == 1 and not own:  # nothing to add
        return kept[0]
    return Tree(graph.name_of(at), own, kept) if own or kept else None
