"""Star: position 0 exchanges a block with each other position, and nobody passes anything on.

S bytes over paths of l ns and B bytes/ns take about l + (n - 1) / n S / B.

Trade-off: n - 1 messages, each a hand-over, at one port; a tree has log2(n), and sends more.
Source: NCCL 2.30.7, src/collectives.cc (gather and scatter as groups of sends and receives).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Star(CollectiveAlgorithm):
    kinds = frozenset({Kind.GATHER, Kind.SCATTER})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        if kind is Kind.GATHER:
            moves = [Move(at, 0, (at,)) for at in range(1, n)]
        else:
            moves = [Move(0, at, (at,)) for at in range(1, n)]
        return Schedule(kind, n, n, (Round(tuple(moves)),), lockstep=False, in_turn=True)


PLUGIN = Star
