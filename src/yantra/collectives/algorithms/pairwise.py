"""Pairwise exchange: an all-to-all in n - 1 rounds, in each of which all meet one partner.

n - 1 blocks each, the least possible, one sender to a receiver: for long messages. n a power of
two: partners i and i xor r; else i sends to i + r and receives from i - r.

Source: Thakur et al., "Optimization of collective communication operations in MPICH", IJHPCA 19
(2005).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, Symmetry


class Pairwise(CollectiveAlgorithm):
    """Round r exchanges with the partner r away."""

    kinds = frozenset({Kind.ALL_TO_ALL})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        symmetry: Symmetry = "add" if n & (n - 1) else "xor"
        rounds = tuple(Round((Move(0, away, (away,)),), symmetry) for away in range(1, n))
        return Schedule(kind, n, n * n, rounds)


PLUGIN = Pairwise
