"""PAT: an all-gather along a binomial tree from every position at once, the farthest way first.

ceil(log2 n) rounds with a ring's bytes.

Trade-off: all blocks of a round go together, unlike in NCCL.

Source: Jeaugey, "PAT" (2025).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, doublings


class Pat(CollectiveAlgorithm):
    kinds = frozenset({Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        steps = doublings(n)
        scatter = [_gathers(n, step) for step in steps]
        spread = [_spreads(n, step) for step in reversed(steps)]
        rounds = {
            Kind.REDUCE_SCATTER: scatter,
            Kind.ALL_GATHER: spread,
            Kind.ALL_REDUCE: scatter + spread,
        }
        return Schedule(kind, n, n, tuple(rounds[kind]))


def _spreads(n: int, step: int) -> Round:
    away = (at for at in range(0, n, 2 * step) if at + step < n)
    return Round((Move(0, step, tuple(-at % n for at in away)),), "add")


def _gathers(n: int, step: int) -> Round:
    away = range(step, n, 2 * step)
    return Round((Move(0, -step % n, tuple(-at % n for at in away), reduce=True),), "add")


PLUGIN = Pat
