"""Recursive halving and doubling: exchange with the partner 1, 2, 4, ... away.

Bandwidth-optimal in log2(n) steps a half, n a power of two.

Source: Thakur et al., IJHPCA 19 (2005).
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.collectives import hand_overs
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.program import ExchangeProgram, Program, RingKind, Run
from yantra.collectives.schedule import Kind, Move, Round, Schedule, final_fraction


class HalvingDoubling(CollectiveAlgorithm):
    kinds = frozenset({Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.ALL_GATHER})
    in_astra_sim = True

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        reason = super().supports(kind, n, faithful=faithful)
        if reason is None and n & (n - 1) and not (faithful and _doubles_in_pairs(kind, n)):
            return f"it needs a power of two positions, got {n}"
        return reason

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        distances = [1 << step for step in range(n.bit_length() - 1)]
        halve = [_exchange(d, range(d, n, 2 * d), reduce=True) for d in distances]
        double = [_exchange(d, range(0, n, 2 * d), reduce=False) for d in reversed(distances)]
        rounds = {
            Kind.REDUCE_SCATTER: halve,
            Kind.ALL_GATHER: double,
            Kind.ALL_REDUCE: halve + double,
        }
        return Schedule(kind, n, n, tuple(rounds[kind]))

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        self.require(kind, n, faithful=faithful)
        runs = _faithful_runs(kind, n) if faithful else _plain_runs(kind, n)
        final = final_fraction(kind, n)
        program = ExchangeProgram(n, runs, 1, len(runs) - 1, 0, *final, round_up=not faithful)
        return (program,)


def _doubles_in_pairs(kind: Kind, n: int) -> bool:
    """ASTRA-sim's all_gather ends if partners floor(n / 2), floor(n / 4), ... away form pairs."""
    if kind is not Kind.ALL_GATHER:
        return False
    return all(n % (2 * (n >> step)) == 0 for step in range(1, n.bit_length()))


class _Step(NamedTuple):
    distance: int
    num: int
    den: int


def _exchange(distance: int, blocks: range, *, reduce: bool) -> Round:
    return Round((Move(0, distance, blocks, reduce),), "xor")


def _plain_runs(kind: Kind, n: int) -> tuple[Run, ...]:
    steps = n.bit_length() - 1
    halve = [_Step(1 << k, n >> (k + 1), n) for k in range(steps)]
    den = n if kind is Kind.ALL_REDUCE else 1
    double = [_Step(n >> (k + 1), 1 << k, den) for k in range(steps)]
    sent = (halve if kind is not Kind.ALL_GATHER else []) + (
        double if kind is not Kind.REDUCE_SCATTER else []
    )
    received = [_Step(0, 0, 1), *sent]
    handed = [*sent, sent[-1]._replace(distance=0)]
    reduced = steps if kind is not Kind.ALL_GATHER else 0
    order = hand_overs.plain(len(handed), window=1, reduced=reduced)
    return _runs(handed, received, order=[one for run in order for one in run.singly()])


def _faithful_runs(kind: Kind, n: int) -> tuple[Run, ...]:
    """Charge a hand-over the size of the message sent after it; sizes halve by flooring."""
    steps = n.bit_length() - 1
    handed = [_Step(1 << k, 1, 2 << k) for k in range(steps)]
    if kind is Kind.ALL_REDUCE:
        handed += [_Step(n >> (k + 1), 2 << k, 2 * n) for k in range(steps + 1)]
    elif kind is Kind.REDUCE_SCATTER:
        handed.append(_Step(0, 1, 2 * n))
    else:
        handed = [_Step(n >> (k + 1), 1 << k, 1) for k in range(steps + 1)]
    order = hand_overs.astra_sim(kind, len(handed), window=1, group=steps - 1)
    return _runs(handed, handed, order=[one for run in order for one in run.singly()])


def _runs(
    handed: list[_Step], charged: list[_Step], order: list[hand_overs.HandOvers]
) -> tuple[Run, ...]:
    runs = []
    for step, charge, hand_over in zip(handed, charged, order, strict=True):
        away = step.distance
        reduced = (charge.num, charge.den) if hand_over.reduce else (0, 1)
        run = Run(
            1, away, away, "xor", step.num, step.den, *reduced, hand_over.side, hand_over.back
        )
        runs.append(run)
    return tuple(runs)


PLUGIN = HalvingDoubling
