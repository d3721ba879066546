"""Double binary tree: reduce up and spread down two trees at once, half of the data over each.

The second is the first mirrored (n even) or shifted by one (n odd). Only several chunks pipeline.

Source: Sanders et al., Parallel Computing 35 (2009).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.program import GraphProgram, Op, Program, RingKind
from yantra.collectives.schedule import Kind, Move, Round, Schedule

_Tree = list[int]  # [position] -> parent; the root is its own

_ASTRA_SIM_RUNS_IT_FOR = (
    Kind.ALL_REDUCE,
    Kind.REDUCE_SCATTER,
    Kind.ALL_GATHER,
    Kind.ALL_TO_ALL,
)


class DoubleBinaryTree(CollectiveAlgorithm):
    """All-reduce of two blocks, one over each tree.

    ASTRA-sim gives whole chunks to the trees in turn, whatever the collective.
    """

    kinds = frozenset({Kind.ALL_REDUCE})
    in_astra_sim = True

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        if not faithful or kind not in _ASTRA_SIM_RUNS_IT_FOR:
            return super().supports(kind, n, faithful=faithful)
        if n & (n - 1):
            return f"in ASTRA-sim it needs a power of two positions, got {n}"
        return super().supports(Kind.ALL_REDUCE, n)

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        levels = [_levels(tree) for tree in _two_trees(n)]
        depth = max(map(len, levels))
        up, down = [], []
        for level in range(depth):
            edges = [
                (block, child, parent)
                for block, tree_levels in enumerate(levels)
                if level < len(tree_levels)
                for child, parent in tree_levels[level]
            ]
            up.append(Round(tuple(Move(c, p, (block,), reduce=True) for block, c, p in edges)))
            down.append(Round(tuple(Move(p, c, (block,)) for block, c, p in edges)))
        return Schedule(kind, n, 2, (*reversed(up), *down), lockstep=False)

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        self.require(kind, n, faithful=faithful)
        if not faithful:
            return super().programs(kind, n)
        return tuple(_faithful_program(tree) for tree in _two_trees(n))


def _two_trees(n: int) -> tuple[_Tree, _Tree]:
    first = _tree_of_lowest_bits(n)
    if n % 2:
        return [(first[(p - 1) % n] + 1) % n for p in range(n)], first
    return [n - 1 - first[n - 1 - p] for p in range(n)], first


def _tree_of_lowest_bits(n: int) -> _Tree:
    parents = [0]
    for position in range(1, n):
        bit = position & -position
        right = (position ^ bit) | (bit << 1)
        parents.append(right if right < n else position ^ bit)
    return parents


def _levels(tree: _Tree) -> list[list[tuple[int, int]]]:
    children = _children(tree)
    levels = []
    parents = [position for position, parent in enumerate(tree) if parent == position]
    while parents:
        edges = [(child, parent) for parent in parents for child in children[parent]]
        if edges:
            levels.append(edges)
        parents = [child for child, _ in edges]
    return levels


def _children(tree: _Tree) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in tree]
    for position, parent in enumerate(tree):
        if parent != position:
            children[parent].append(position)
    return children


def _faithful_program(tree: _Tree) -> GraphProgram:
    ops = []
    for position, children in enumerate(_children(tree)):
        if tree[position] == position:
            ops.append(_root(children[0]))
        elif children:
            ops.append(_between(tree[position], *children))
        else:
            ops.append(_leaf(tree[position]))
    return GraphProgram(len(tree), tuple(ops), "none", 1, 1, round_up=False)


def _root(child: int) -> tuple[Op, ...]:
    return (_receive(child), _hand_over(0, back=True), _send(child, 1))


def _between(parent: int, left: int, right: int) -> tuple[Op, ...]:
    """ASTRA-sim charges a reduction for the copy coming down, too."""
    return (
        _receive(left),
        _receive(right),
        _hand_over(0, back_if_last=True),
        _hand_over(1, back_if_last=True),
        _send(parent, 2, 3),
        _receive(parent, 2, 3),
        _hand_over(5, back=True),
        _send(left, 6),
        _send(right, 6),
    )


def _leaf(parent: int) -> tuple[Op, ...]:
    return (
        Op("local", 0, 1, 1, 0, 1, (), "z"),
        _send(parent, 0),
        _receive(parent, 0),
        Op("local", 0, 1, 1, 0, 1, (2,), "nz"),
    )


def _send(peer: int, *deps: int) -> Op:
    return Op("send", peer, 1, 1, 0, 1, deps)


def _receive(peer: int, *deps: int) -> Op:
    return Op("recv", peer, 1, 1, 0, 1, deps)


def _hand_over(received: int, *, back: bool = False, back_if_last: bool = False) -> Op:
    return Op("local", 0, 1, 1, 1, 1, (received,), "nz", back, back_if_last)


PLUGIN = DoubleBinaryTree
