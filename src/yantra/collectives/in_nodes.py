"""Collectives of members that share nodes: inside them, across them on every rail, inside again.

The smallest node's members are the rails: the k-th member of every node is on rail k.

| stage | all-reduce | broadcast from position 0 | | --- | --- | --- | | inside | sums of a share
end at the member on its rail | a chain of the root's node | | across | a ring of nodes on each rail
| a chain of nodes on each rail | | inside | each share goes round the node | each share goes round
the other nodes |

A reduce is a broadcast backwards, a gather a scatter, an all-gather a reduce-scatter.

Trade-off: chains in nodes with members on no rail take a step a member; chunks overlap them.
Sources: NCCL 2.30.7, src/graph/rings.cc (a ring for each rail) and src/graph/paths.cc (PXN); van de
Geijn and Watts, "SUMMA", Concurrency 9 (1997), for pipelined broadcasts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from yantra.collectives.schedule import Kind, Move, Round, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_MOVES = 1 << 20
"""With more moves, one ring of the members is used instead."""

Nodes = tuple[tuple[int, ...], ...]
"""The positions of each node, those on rails first, in the order of the rails."""

_Moves = list[list[Move]]


class Stages(NamedTuple):
    """The rounds of each stage, over `blocks` blocks."""

    kind: Kind
    n: int
    blocks: int
    parts: tuple[tuple[Round, ...], tuple[Round, ...], tuple[Round, ...]]

    def schedule(self) -> Schedule:
        rounds = tuple(round_ for part in self.parts for round_ in part)
        return Schedule(self.kind, self.n, self.blocks, rounds, lockstep=False, in_turn=True)

    def part(self, at: int) -> Schedule:
        return self.schedule()._replace(rounds=self.parts[at])


def stages(kind: Kind, nodes: Nodes) -> Stages | None:
    """The stages of a collective; None for more than `MOST_MOVES`."""
    n = sum(len(node) for node in nodes)
    if _moves(kind, nodes, n) > MOST_MOVES:
        return None
    over = _Nodes(nodes, n)
    if kind in (Kind.REDUCE, Kind.GATHER, Kind.ALL_GATHER):
        forth = {
            Kind.REDUCE: Kind.BROADCAST,
            Kind.GATHER: Kind.SCATTER,
            Kind.ALL_GATHER: Kind.REDUCE_SCATTER,
        }[kind]
        blocks, parts = _FORTH[forth](over)
        adds = kind is Kind.REDUCE
        inside, across, last = (_backwards(part, adds) for part in reversed(parts))
        if kind is Kind.ALL_GATHER:
            last = over.all_around(over.of_rails(over.homes()))
        if adds:
            inside = over.all_to_rails(apart=over.node_of[0])
        return _made(kind, n, blocks, [inside, across, last])
    if kind is Kind.ALL_REDUCE:
        blocks, (inside, across, _) = over.reduce_scatter(over.ring_blocks())
        around = over.all_around(over.of_rails(over.ring_blocks()))
        return _made(kind, n, blocks, [inside, [*across, *_backwards(across, False)], around])
    blocks, parts = _FORTH[kind](over)
    return _made(kind, n, blocks, parts)


def _moves(kind: Kind, nodes: Nodes, n: int) -> int:
    rails = min(len(node) for node in nodes)
    across = len(nodes) * len(nodes) * rails
    inside = sum(len(node) for node in nodes) * rails
    return 2 * (across + inside)


def _made(kind: Kind, n: int, blocks: int, parts: Sequence[_Moves]) -> Stages:
    inside, across, back = (tuple(Round(tuple(one)) for one in part if one) for part in parts)
    return Stages(kind, n, blocks, (inside, across, back))


def _backwards(moves: _Moves, adds: bool) -> _Moves:
    return [[Move(one.dst, one.src, one.blocks, adds) for one in round_] for round_ in moves[::-1]]


class _Nodes:
    def __init__(self, nodes: Nodes, n: int) -> None:
        self.n = n
        self.nodes = nodes
        self.rails = min(len(node) for node in nodes)
        self.node_of = {position: at for at, node in enumerate(nodes) for position in node}
        self.rail_of = {
            position: at % self.rails for node in nodes for at, position in enumerate(node)
        }

    def ring_blocks(self) -> list[tuple[int, int]]:
        return [(node, rail) for rail in range(self.rails) for node in range(len(self.nodes))]

    def reduce_scatter(self, homes: Sequence[tuple[int, int]]) -> tuple[int, list[_Moves]]:
        of_rail = self.of_rails(homes)
        inside = _side_by_side(self._to_rail(node, of_rail) for node in range(len(self.nodes)))
        return len(homes), [inside, self._ring(homes), []]

    def all_to_rails(self, apart: int) -> _Moves:
        blocks = [(rail,) for rail in range(self.rails)]
        nodes = (node for node in range(len(self.nodes)) if node != apart)
        return _side_by_side(self._to_rail(node, blocks) for node in nodes)

    def _to_rail(self, node: int, of_rail: Sequence[Sequence[int]]) -> _Moves:
        return _side_by_side(
            self._to_member(node, rail, blocks) for rail, blocks in enumerate(of_rail) if blocks
        )

    def _to_member(self, node: int, rail: int, blocks: Sequence[int]) -> _Moves:
        members = self.nodes[node]
        m = len(members)
        away = range(m - 1, 0, -1)
        if m == self.rails:
            src = [members[(rail + step) % m] for step in away]
            return [[Move(one, members[rail], blocks, True)] for one in src]
        chain = [members[(rail - step) % m] for step in (*away, 0)]
        return [[Move(one, to, blocks, True)] for one, to in pairwise(chain)]

    def _ring(self, homes: Sequence[tuple[int, int]]) -> _Moves:
        count = len(self.nodes)
        rounds: _Moves = []
        for step in range(1, count):
            moving: dict[tuple[int, int], list[int]] = {}
            for block, (node, rail) in enumerate(homes):
                at = (node + step) % count
                moving.setdefault((at, rail), []).append(block)
            rounds.append(
                [
                    Move(self.nodes[at][rail], self.nodes[(at + 1) % count][rail], blocks, True)
                    for (at, rail), blocks in moving.items()
                ]
            )
        return rounds

    @property
    def parts(self) -> int:
        even = all(len(node) % self.rails == 0 for node in self.nodes)
        return 1 if even or self.n * self.rails * len(self.nodes) > MOST_MOVES else self.rails

    def homes(self) -> list[tuple[int, int]]:
        found = []
        for position in range(self.n):
            node, parts = self.node_of[position], range(self.parts)
            even = len(self.nodes[node]) % self.rails == 0
            found += [(node, self.rail_of[position] if even else part) for part in parts]
        return found

    def of_rails(self, homes: Sequence[tuple[int, int]]) -> list[list[int]]:
        of_rail: list[list[int]] = [[] for _ in range(self.rails)]
        for block, (_, rail) in enumerate(homes):
            of_rail[rail].append(block)
        return of_rail

    def all_around(self, of_rail: Sequence[Sequence[int]]) -> _Moves:
        return _side_by_side(
            self.around(node, rail, blocks)
            for node in range(len(self.nodes))
            for rail, blocks in enumerate(of_rail)
            if blocks
        )

    def around(self, node: int, rail: int, blocks: Sequence[int]) -> _Moves:
        members = self.nodes[node]
        m = len(members)
        along = [members[(rail + step) % m] for step in range(m)]
        return [[Move(src, dst, blocks)] for src, dst in pairwise(along)]


def _reduce_scatter(over: _Nodes) -> tuple[int, list[_Moves]]:
    homes = over.homes()
    blocks, parts = over.reduce_scatter(homes)
    passed: dict[tuple[int, int], list[int]] = {}
    for block, (node, rail) in enumerate(homes):
        ends = over.nodes[node][rail], block // over.parts
        if ends[0] != ends[1]:
            passed.setdefault(ends, []).append(block)
    last = [Move(src, dst, of) for (src, dst), of in passed.items()]
    return blocks, [parts[0], parts[1], [last]]


def _broadcast(over: _Nodes) -> tuple[int, list[_Moves]]:
    home = over.node_of[0]
    order = [home, *(node for node in range(len(over.nodes)) if node != home)]
    on_rails = [[over.nodes[node][rail] for node in order] for rail in range(over.rails)]
    first = [0, *(position for position in over.nodes[home] if position != 0)]
    whole = tuple(range(over.rails))
    given = [[Move(src, dst, whole)] for src, dst in pairwise(first)]
    across = _side_by_side(
        [[Move(src, dst, (block,))] for src, dst in pairwise(rail)]
        for block, rail in enumerate(on_rails)
    )
    around = _side_by_side(
        over.around(node, rail, (rail,)) for node in order[1:] for rail in range(over.rails)
    )
    return over.rails, [given, across, around]


def _scatter(over: _Nodes) -> tuple[int, list[_Moves]]:
    home = over.node_of[0]
    far: dict[int, list[int]] = {}
    across: list[list[Move]] = []
    last: list[Move] = []
    for node, members in enumerate(over.nodes):
        if node == home:
            continue
        carried: dict[int, list[int]] = {}
        for position in members:
            carried.setdefault(over.rail_of[position], []).append(position)
        for rail, blocks in carried.items():
            far.setdefault(over.nodes[home][rail], []).extend(blocks)
            across.append([Move(over.nodes[home][rail], members[rail], blocks)])
            last += [
                Move(members[rail], position, (position,))
                for position in blocks
                if position != members[rail]
            ]
    given = [[Move(0, dst, blocks)] for dst, blocks in far.items() if dst != 0]
    own = [[Move(0, position, (position,))] for position in over.nodes[home] if position != 0]
    return over.n, [[*given, *own], across, [last]]


def _side_by_side(several: Iterable[_Moves]) -> _Moves:
    joined: _Moves = []
    for moves in several:
        for at, round_ in enumerate(moves):
            if at == len(joined):
                joined.append([])
            joined[at].extend(round_)
    return joined


_FORTH = {
    Kind.REDUCE_SCATTER: _reduce_scatter,
    Kind.BROADCAST: _broadcast,
    Kind.SCATTER: _scatter,
}
KINDS = frozenset(Kind) - {Kind.BARRIER, Kind.ALL_TO_ALL}
"""Not an all-to-all: there each member's own adapter carries its data."""
