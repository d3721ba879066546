"""Pairwise exchange: an all-to-all in n - 1 rounds, in each of which all meet one partner.

Each position sends n - 1 blocks, the least there is, one at a time, so no receiver is sent to by
two at once: best for long messages where many senders to one would disturb each other. With a power
of two of positions partners are i and i xor r; else i sends to i + r and receives from i - r.

Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
MPICH", Int. J. High Perform. Comput. Appl. 19 (2005).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, Symmetry


class Pairwise(CollectiveAlgorithm):
    """Round r is the exchange with the partner r away."""

    kinds = frozenset({Kind.ALL_TO_ALL})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        symmetry: Symmetry = "add" if n & (n - 1) else "xor"
        rounds = tuple(Round((Move(0, away, (away,)),), symmetry) for away in range(1, n))
        return Schedule(kind, n, n * n, rounds)


PLUGIN = Pairwise
