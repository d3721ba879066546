"""Chain: every position passes what it gets on to the next one.

c chunks of S bytes over n positions, paths of l ns and B bytes/ns, and hand-overs of d ns take
about

    (n - 2 + c) (d + S / (c B)) + (n - 1) l

Trade-off: n - 1 messages in sequence, so for large data or few positions.

Source: Barnett et al., SHPCC 1994; NCCL's ring broadcast and reduce.
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Chain(CollectiveAlgorithm):
    """Up from position 0 for a broadcast, down to it for a reduce."""

    kinds = frozenset({Kind.BROADCAST, Kind.REDUCE})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        if kind is Kind.BROADCAST:
            rounds = [Round((Move(at, at + 1, (0,)),)) for at in range(n - 1)]
        else:
            rounds = [Round((Move(at, at - 1, (0,), True),)) for at in range(n - 1, 0, -1)]
        return Schedule(kind, n, 1, tuple(rounds), lockstep=False, in_turn=True)


PLUGIN = Chain
