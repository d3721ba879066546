"""Collectives in which switches take part: data is added on its way up a tree, and copied down.

    tree = Tree("spine 0", children=(Tree("leaf 0", ranks=(0, 1)), Tree("leaf 1", ranks=(2, 3))))
    schedule = all_reduce(4, tree)

A rank sends its data once and receives the result once, whatever the number of ranks; a link of a
tree carries each block once each way. A switch adds what it has received whole, and takes no time
for it, so the time of an all-reduce alone over a tree of h levels of links with latency l and
bandwidth B is 2 h (l + S / B) and the hand-overs at the ranks, for one block on an idle network.

Trade-off: no rate, no buffer and no table of the switch bounds it, and no switch is cut-through.

Source: Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
for efficient data reduction", COMHPC 2016.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Tree(NamedTuple):
    """A switch, by its name in the fabric, with the ranks and the switches below it."""

    switch: str
    ranks: tuple[int, ...] = ()
    children: tuple[Tree, ...] = ()

    def walk(self) -> Iterator[Tree]:
        """Yield all switches of the tree, this one first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def depth(self) -> int:
        """The levels of links below this switch."""
        return 1 + max((child.depth for child in self.children), default=0)


def all_reduce(n: int, tree: Tree, blocks: int = 1) -> Schedule:
    """Return the all-reduce of n positions that adds on the way up and copies on the way down."""
    return _schedule(
        Kind.ALL_REDUCE, n, tree, blocks, [*_up(n, tree, blocks), *_down(n, tree, blocks)]
    )


def barrier(n: int, tree: Tree) -> Schedule:
    """Return the barrier that gathers arrivals on the way up and releases on the way down."""
    return _schedule(Kind.BARRIER, n, tree, 1, [*_up(n, tree, 1), *_down(n, tree, 1)])


def broadcast(n: int, tree: Tree, blocks: int = 1) -> Schedule:
    """Return the broadcast of position 0: up to the top, then one copy to each child.

    What goes down to where it came from is left out.
    """
    way = _way_to(tree, 0)
    at = _positions(n, tree)
    stops = [0, *(at[one.switch] for one in reversed(way))]
    carried = tuple(range(blocks))
    up = [Round((Move(a, b, carried),)) for a, b in pairwise(stops)]
    down = [
        Round(tuple(move for move in round_.moves if move.dst not in stops))
        for round_ in _down(n, tree, blocks)
    ]
    return _schedule(Kind.BROADCAST, n, tree, blocks, [*up, *(one for one in down if one.moves)])


def _schedule(kind: Kind, n: int, tree: Tree, blocks: int, rounds: list[Round]) -> Schedule:
    names = tuple(one.switch for one in tree.walk())
    return Schedule(kind, n, blocks, tuple(rounds), lockstep=False, switches=names)


def _positions(n: int, tree: Tree) -> dict[str, int]:
    return {one.switch: n + at for at, one in enumerate(tree.walk())}


def _levels(tree: Tree) -> list[list[Tree]]:
    """Return the switches by how far they are from the top."""
    levels, level = [], [tree]
    while level:
        levels.append(level)
        level = [child for one in level for child in one.children]
    return levels


def _up(n: int, tree: Tree, blocks: int) -> list[Round]:
    at = _positions(n, tree)
    rounds = []
    for level in reversed(_levels(tree)):
        moves = [
            Move(below, at[one.switch], (block,), reduce=True)
            for one in level
            for below in (*one.ranks, *(at[child.switch] for child in one.children))
            for block in range(blocks)
        ]
        rounds.append(Round(tuple(moves)))
    return rounds


def _down(n: int, tree: Tree, blocks: int) -> list[Round]:
    at = _positions(n, tree)
    return [
        Round(
            tuple(
                Move(at[one.switch], below, (block,))
                for one in level
                for below in (*one.ranks, *(at[child.switch] for child in one.children))
                for block in range(blocks)
            )
        )
        for level in _levels(tree)
    ]


def _way_to(tree: Tree, rank: int) -> list[Tree]:
    """Return the switches from the top to the one that a rank is at; none if it is nowhere."""
    if rank in tree.ranks:
        return [tree]
    for child in tree.children:
        way = _way_to(child, rank)
        if way:
            return [tree, *way]
    return []
