"""Stages of collectives over nodes: inside each node, and between them.

Data has a share for each place of a node, summed at that place or spread from it; equal places of
all nodes exchange shares, each on its own rail.

| inside | how | | --- | --- | | `Chain` | from place to place, each share its own way round, to the
place that it belongs to | | `Direct` | each place sends each other its share | | `Nvls` | switches
of the node add for a place, and copy what it stores to all |

| between | how | | --- | --- | | `Trees` | two binary trees of nodes, half of a share on each | |
`Sharp` | trees of switches add on the way up and copy on the way down |

Every pair of them is an algorithm of NCCL: Tree is Chain with Trees, CollNetChain Chain with Sharp,
CollNetDirect Direct with Sharp, NVLSTree Nvls with Trees, NVLS over nodes Nvls with Sharp.

Source: NCCL 2.30.7, src/device/all_reduce.h; Hu et al., "Demystifying NCCL", arXiv 2507.04786
(2025), section IV.
"""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from yantra.collectives import switch_tree
from yantra.collectives.algorithms.double_binary_tree import DoubleBinaryTree
from yantra.collectives.in_network import InNetwork, Node
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.switch_tree import Leg, Tree, at_once, scheduled

if TYPE_CHECKING:
    from collections.abc import Sequence

Inside = Literal["chain", "direct", "nvls"]
Between = Literal["trees", "sharp"]
_Rounds = list[list[Leg]]


class Shares(NamedTuple):
    places: int
    each: int

    def of(self, place: int, one: int = 0, several: int = 1) -> tuple[int, ...]:
        return tuple(range(place * self.each + one, (place + 1) * self.each, several))

    def of_all(self, one: int, several: int) -> tuple[int, ...]:
        return tuple(
            block for place in range(self.places) for block in self.of(place, one, several)
        )


def summed_up(inside: Inside, node: Node, shares: Shares) -> _Rounds:
    at, places = node.positions, range(len(node.positions))
    if inside == "nvls":
        count = len(node.switches)
        added = [
            Leg(position, switch, shares.of_all(one, count), reduce=True)
            for one, switch in enumerate(node.switches)
            for position in at
        ]
        loaded = [
            Leg(switch, at[place], shares.of(place, one, count))
            for one, switch in enumerate(node.switches)
            for place in places
        ]
        return [added, loaded]
    if inside == "direct":
        pairs = ((src, dst) for src in places for dst in places if src != dst)
        return [[Leg(at[src], at[dst], shares.of(dst), reduce=True) for src, dst in pairs]]
    g = len(at)
    return [
        [Leg(at[(k - step) % g], at[(k - step + 1) % g], shares.of(k), reduce=True) for k in places]
        for step in range(g - 1, 0, -1)
    ]


def spread(inside: Inside, node: Node, shares: Shares) -> _Rounds:
    if inside == "nvls":
        at, count = node.positions, len(node.switches)
        stored = [
            Leg(at[place], switch, shares.of(place, one, count))
            for one, switch in enumerate(node.switches)
            for place in range(len(at))
        ]
        copied = [
            Leg(switch, position, shares.of_all(one, count))
            for one, switch in enumerate(node.switches)
            for position in at
        ]
        return [stored, copied]
    back = reversed(summed_up(inside, node, shares))
    return [[Leg(leg.dst, leg.src, leg.blocks) for leg in legs] for legs in back]


def over_trees(rail: Sequence[int], blocks: Sequence[int]) -> _Rounds:
    if len(rail) == 1:
        return []
    made = DoubleBinaryTree().schedule(Kind.ALL_REDUCE, len(rail))
    return [
        [
            Leg(rail[move.src], rail[move.dst], tuple(blocks[half::2]), move.reduce)
            for move in round_.moves
            for half in move.blocks
        ]
        for round_ in made.rounds
    ]


def over_switches(trees: Sequence[Tree], blocks: Sequence[int]) -> _Rounds:
    parts = [[tuple(blocks[one :: len(trees)])] for one in range(len(trees))]
    return at_once(
        [*switch_tree.up(tree, part), *switch_tree.down(tree, part)]
        for tree, part in zip(trees, parts, strict=True)
    )


class OverNodes(InNetwork):
    kinds = frozenset({Kind.ALL_REDUCE})
    by_nodes = True
    inside: ClassVar[Inside]
    between: ClassVar[Between]

    def lacks(self, n: int) -> str | None:
        nodes = self.nodes(n)
        sizes = sorted({len(node.positions) for node in nodes})
        if len(sizes) > 1:
            return f"its nodes have equal numbers of ranks; got {', '.join(map(str, sizes))}"
        if self.inside == "nvls" and not all(node.switches for node in nodes):
            return "no switch of a node has links to all of its ranks"
        if self.between == "sharp" and not all(self._trees(n)):
            return "no switch of the fabric reaches equal places of all nodes"
        return None

    def _rails(self, n: int) -> list[tuple[int, ...]]:
        return list(zip(*(node.positions for node in self.nodes(n)), strict=True))

    def _trees(self, n: int) -> list[tuple[Tree, ...]]:
        rails = self._rails(n)
        return [self.trees(n, rail) for rail in rails] if len(rails[0]) > 1 else []

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        nodes, rails = self.nodes(n), self._rails(n)
        trees = self._trees(n) if self.between == "sharp" else []
        ways = [len(one) for one in trees] if self.between == "sharp" else [2]
        planes = {len(node.switches) for node in nodes} if self.inside == "nvls" else {1}
        shares = Shares(len(rails), lcm(*planes) * lcm(1, *ways))
        if self.between == "sharp":
            across = [over_switches(one, shares.of(place)) for place, one in enumerate(trees)]
        else:
            across = [over_trees(rail, shares.of(place)) for place, rail in enumerate(rails)]
        rounds = [
            *at_once(summed_up(self.inside, node, shares) for node in nodes),
            *at_once(across),
            *at_once(spread(self.inside, node, shares) for node in nodes),
        ]
        return scheduled(kind, n, shares.places * shares.each, rounds)
