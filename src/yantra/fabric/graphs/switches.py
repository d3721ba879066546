"""A fabric's switches for collectives: trees, and nodes.

A node is a box with ranks, or all ranks without boxes; its switches are the box's with cables to
all its ranks.

Trade-off: positions are a job's ranks; a part of a node is a smaller node.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from yantra.collectives.in_network import Node
from yantra.collectives.switch_tree import Tree
from yantra.fabric.graphs.graph import NO_BOX
from yantra.fabric.graphs.switch_trees import cables_of, is_switch, trees_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.fabric.graphs.graph import Graph


class FabricSwitches:
    """A graph's switches, from positions on the devices `placement`."""

    def __init__(self, graph: Graph, placement: Sequence[int]) -> None:
        self.graph = graph
        self.placement = [int(device) for device in placement]
        self._found: dict[tuple[int, ...], tuple[Tree, ...]] = {}

    def trees(self, positions: Sequence[int]) -> tuple[Tree, ...]:
        """Return trees over positions that share no switch.

        Raises UnsupportedError for too many switches.
        """
        asked = tuple(positions)
        if asked not in self._found:
            at = {self.placement[position]: position for position in asked}
            made = trees_of(self.graph, tuple(at))
            self._found[asked] = tuple(_renamed(tree, at) for tree in made)
        return self._found[asked]

    def nodes(self) -> tuple[Node, ...]:
        return self._nodes

    @cached_property
    def _nodes(self) -> tuple[Node, ...]:
        graph = self.graph
        members: dict[int, list[int]] = {}
        for position, device in enumerate(self.placement):
            members.setdefault(int(graph.boxes[device]), []).append(position)
        beside = [set(others) for others in cables_of(graph)]
        inside: dict[int, list[int]] = {}
        for at in range(graph.ranks, graph.devices):
            if is_switch(graph, at):
                inside.setdefault(int(graph.boxes[at]), []).append(at)
        nodes = []
        for box, positions in members.items():
            # A rank in no box is a node of its own.
            alone = box == NO_BOX and len(members) > 1
            for some in [[one] for one in positions] if alone else [positions]:
                here = {self.placement[one] for one in some}
                own = [] if alone else [s for s in inside.get(box, ()) if here <= beside[s]]
                nodes.append(Node(tuple(some), tuple(map(graph.name_of, own))))
        return tuple(nodes)


def _renamed(tree: Tree, at: dict[int, int]) -> Tree:
    below = tuple(_renamed(child, at) for child in tree.children)
    return Tree(tree.switch, tuple(at[device] for device in tree.ranks), below)
