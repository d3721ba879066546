"""Collectives in which switches take part: data is added on its way up a tree, and copied down.

Switches add what has arrived whole, in no time: one block over h levels of links of latency l and
bandwidth B takes 2 h (l + S / B) and hand-overs. Trade-off: switches have no rate, buffer, table or
cut-through.

Source: Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
for efficient data reduction", COMHPC 2016.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Tree(NamedTuple):
    """A switch, by its name in the fabric, with the ranks and the switches below it."""

    switch: str
    ranks: tuple[int, ...] = ()
    children: tuple[Tree, ...] = ()

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def below(self) -> list[int | str]:
        return [*self.ranks, *(child.switch for child in self.children)]

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children), default=0)


class Leg(NamedTuple):
    src: int | str
    dst: int | str
    blocks: tuple[int, ...]
    reduce: bool = False


def all_reduce(n: int, tree: Tree, blocks: int = 1) -> Schedule:
    each = _singly(blocks)
    return _of_tree(Kind.ALL_REDUCE, n, tree, blocks, [*up(tree, each), *down(tree, each)])


def barrier(n: int, tree: Tree) -> Schedule:
    return _of_tree(Kind.BARRIER, n, tree, 1, [*up(tree, [(0,)]), *down(tree, [(0,)])])


def broadcast(n: int, tree: Tree, blocks: int = 1) -> Schedule:
    """Broadcast of position 0: up to the top, then to each child, but never back."""
    stops: list[int | str] = [0, *(one.switch for one in reversed(_way_to(tree, 0)))]
    carried = tuple(range(blocks))
    rounds = [[Leg(a, b, carried)] for a, b in pairwise(stops)]
    for legs in down(tree, _singly(blocks)):
        rounds.append([leg for leg in legs if leg.dst not in stops])
    return _of_tree(Kind.BROADCAST, n, tree, blocks, [one for one in rounds if one])


def up(tree: Tree, parts: Sequence[tuple[int, ...]]) -> list[list[Leg]]:
    return [
        [
            Leg(below, one.switch, part, reduce=True)
            for one in level
            for below in one.below
            for part in parts
        ]
        for level in reversed(_levels(tree))
    ]


def down(tree: Tree, parts: Sequence[tuple[int, ...]]) -> list[list[Leg]]:
    return [
        [Leg(one.switch, below, part) for one in level for below in one.below for part in parts]
        for level in _levels(tree)
    ]


def at_once(several: Iterable[list[list[Leg]]]) -> list[list[Leg]]:
    return [
        [leg for legs in round_ for leg in legs]
        for round_ in zip_longest(*several, fillvalue=list[Leg]())
    ]


def scheduled(
    kind: Kind, n: int, blocks: int, rounds: Iterable[list[Leg]], names: Iterable[str] = ()
) -> Schedule:
    at = {name: n + number for number, name in enumerate(names)}
    placed: list[Round] = []
    for legs in rounds:
        moves = []
        for leg in legs:
            src, dst = (
                end if isinstance(end, int) else at.setdefault(end, n + len(at))
                for end in (leg.src, leg.dst)
            )
            moves.append(Move(src, dst, leg.blocks, leg.reduce))
        placed.append(Round(tuple(moves)))
    return Schedule(kind, n, blocks, tuple(placed), lockstep=False, switches=tuple(at))


def _singly(blocks: int) -> list[tuple[int, ...]]:
    return [(block,) for block in range(blocks)]


def _of_tree(kind: Kind, n: int, tree: Tree, blocks: int, rounds: list[list[Leg]]) -> Schedule:
    return scheduled(kind, n, blocks, rounds, (one.switch for one in tree.walk()))


def _levels(tree: Tree) -> list[list[Tree]]:
    levels, level = [], [tree]
    while level:
        levels.append(level)
        level = [child for one in level for child in one.children]
    return levels


def _way_to(tree: Tree, rank: int) -> list[Tree]:
    if rank in tree.ranks:
        return [tree]
    for child in tree.children:
        way = _way_to(child, rank)
        if way:
            return [tree, *way]
    return []
