"""Pairwise exchange: an all-to-all in n - 1 rounds, in each of which all meet one partner.

Partners are i and i xor r if n is a power of two, else i sends to i + r: for long messages.

Source: Thakur et al., IJHPCA 19 (2005).
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
