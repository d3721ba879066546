"""Ring: every position passes blocks to its next neighbour, and nothing else.

Bandwidth-optimal for all_reduce, reduce_scatter and all_gather; an all_to_all relays n / 2 times
the data.

Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009).
"""

from __future__ import annotations

from yantra.collectives import hand_overs
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.program import ExchangeProgram, Program, RingKind, Run
from yantra.collectives.schedule import Kind, Move, Round, Schedule, final_fraction


class Ring(CollectiveAlgorithm):
    kinds = frozenset({Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.ALL_TO_ALL})
    in_astra_sim = True

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        if kind is Kind.ALL_TO_ALL:
            return Schedule(kind, n, n * n, _relay(n))
        sum_up = [_pass_on((-1 - step) % n, reduce=True) for step in range(n - 1)]
        spread = [_pass_on(-step % n, reduce=False) for step in range(n - 1)]
        rounds = {
            Kind.REDUCE_SCATTER: sum_up,
            Kind.ALL_GATHER: spread,
            Kind.ALL_REDUCE: sum_up + spread,
        }
        return Schedule(kind, n, n, tuple(rounds[kind]))

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        self.require(kind, n, faithful=faithful)
        sends = {Kind.ALL_REDUCE: 2 * (n - 1), Kind.ALL_TO_ALL: n * (n - 1) // 2}.get(kind, n - 1)
        den = 1 if kind is Kind.ALL_GATHER else n
        reduced = n - 1 if kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER) else 0
        order = (
            hand_overs.astra_sim(kind, sends + 1, window=1, group=n - 1)
            if faithful
            else hand_overs.plain(sends + 1, window=1, reduced=reduced)
        )
        runs = tuple(
            Run(length, 1, -1, "add", 1, den, int(reduce), den if reduce else 1, side, back)
            for length, side, back, reduce in order
        )
        final = final_fraction(kind, n)
        return (ExchangeProgram(n, runs, 1, sends, 0, *final, round_up=not faithful),)


def _pass_on(block: int, *, reduce: bool) -> Round:
    return Round((Move(0, 1, (block,), reduce),), "add")


def _relay(n: int) -> tuple[Round, ...]:
    return tuple(
        Round((Move(0, 1, (-hop % n * n + (distance - hop) % n,)),), "add")
        for distance in range(1, n)
        for hop in range(distance)
    )


PLUGIN = Ring
