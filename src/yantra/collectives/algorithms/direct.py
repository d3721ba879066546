"""Direct: every position exchanges with every other, nearest first, a window of messages at a time.

One step of n - 1 messages each: good on a full mesh, bad where they share a link.

Source: Thakur et al., IJHPCA 19 (2005): the pairwise exchange.
"""

from __future__ import annotations

from functools import cache

from yantra.collectives import hand_overs
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.program import ExchangeProgram, Program, RingKind, Run
from yantra.collectives.schedule import Kind, Move, Round, Schedule, final_fraction


class Direct(CollectiveAlgorithm):
    """`window` messages under way; None: n - 1."""

    kinds = frozenset({Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.ALL_TO_ALL})
    windowed = True
    in_astra_sim = True

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        others = range(1, n)
        deliver = Round(tuple(Move(0, to, (to,)) for to in others), "add")
        if kind is Kind.ALL_TO_ALL:
            return Schedule(kind, n, n * n, (deliver,))
        contribute = Round(tuple(Move(0, to, (to,), reduce=True) for to in others), "add")
        spread = Round(tuple(Move(0, to, (0,)) for to in others), "add")
        rounds = {
            Kind.REDUCE_SCATTER: (contribute,),
            Kind.ALL_GATHER: (spread,),
            Kind.ALL_REDUCE: (contribute, spread),
        }
        return Schedule(kind, n, n, rounds[kind])

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        self.require(kind, n, faithful=faithful)
        window = min(self.window or n - 1, n - 1)
        return (_program(kind, n, window, faithful, ring_kind),)


@cache  # the same few repeat
def _program(
    kind: Kind, n: int, window: int, faithful: bool, ring_kind: RingKind
) -> ExchangeProgram:
    sends = 2 * (n - 1) if kind is Kind.ALL_REDUCE else n - 1
    reduced = n - 1 if kind in (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER) else 0
    group = window if ring_kind == "usual" else (n - 1) * window
    order = (
        hand_overs.astra_sim(kind, sends + window, window, group)
        if faithful
        else hand_overs.plain(sends + window, window, reduced)
    )
    final = final_fraction(kind, n)
    barrier_at = n - 1 if kind is Kind.ALL_REDUCE else 0
    runs = _runs(n, 1 if kind is Kind.ALL_GATHER else n, list(order))
    return ExchangeProgram(
        n,
        runs,
        window,
        sends,
        barrier_at,
        *final,
        round_up=not faithful,
        barrier_counts="receipts" if faithful else "hand_overs",
    )


def _runs(n: int, den: int, order: list[hand_overs.HandOvers]) -> tuple[Run, ...]:
    runs: list[Run] = []
    sent = 0
    for length, side, back, reduce in order:
        reduced = (1, den) if reduce else (0, 1)
        for injection in range(sent, sent + length):
            away = injection % (n - 1) + 1
            runs.append(Run(1, away, -away, "add", 1, den, *reduced, side, back))
        sent += length
    return tuple(runs)


PLUGIN = Direct
