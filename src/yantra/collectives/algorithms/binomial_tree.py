"""Binomial tree: log2(n) rounds; those that hold the data double.

For short messages.

Source: Thakur et al., IJHPCA 19 (2005).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, doublings


class BinomialTree(CollectiveAlgorithm):
    """p's parent is p without its lowest set bit."""

    kinds = frozenset({Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER, Kind.BARRIER})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        per_position = kind in (Kind.GATHER, Kind.SCATTER)
        up = [_round(n, bit, per_position) for bit in doublings(n)]
        if kind in (Kind.REDUCE, Kind.BARRIER):
            up = [Round(tuple(move._replace(reduce=True) for move in r.moves)) for r in up]
        down = [
            Round(tuple(Move(move.dst, move.src, move.blocks) for move in r.moves))
            for r in reversed(up)
        ]
        rounds = {Kind.BROADCAST: down, Kind.SCATTER: down, Kind.BARRIER: up + down}.get(kind, up)
        blocks = n if per_position else 1
        return Schedule(kind, n, blocks, tuple(rounds), lockstep=False, in_turn=True)


def _round(n: int, bit: int, per_position: bool) -> Round:
    return Round(
        tuple(
            Move(p, p - bit, range(p, min(p + bit, n)) if per_position else (0,))
            for p in range(bit, n, 2 * bit)
        )
    )


PLUGIN = BinomialTree
