"""Spread: position 0 gives each other position a part, which passes it on to all others.

On a full mesh S bytes over links of l ns and B bytes/ns take about 2 (l + S / (n - 1) / B).

Trade-off: (n - 1)^2 messages; on a shared port a chain is better.

Source: van de Geijn, J. Parallel Distrib. Comput. 22 (1994).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule


class Spread(CollectiveAlgorithm):
    kinds = frozenset({Kind.BROADCAST, Kind.REDUCE})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        parts = range(max(n - 1, 1))
        others = range(1, n)
        between = [(part, to) for part in parts for to in others if to != part + 1]
        if kind is Kind.BROADCAST:
            given = [Move(0, part + 1, (part,)) for part in parts if part + 1 < n]
            rounds = [given, [Move(part + 1, to, (part,)) for part, to in between]]
        else:
            sums = [Move(to, part + 1, (part,), True) for part, to in between]
            rounds = [sums, [Move(part + 1, 0, (part,), True) for part in parts if part + 1 < n]]
        made = tuple(Round(tuple(moves)) for moves in rounds if moves)
        return Schedule(kind, n, len(parts), made, lockstep=False)


PLUGIN = Spread
