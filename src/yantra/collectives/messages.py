"""The messages of a collective in rounds, for people: of an algorithm, or of an MSCCL program."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from yantra.collectives.msccl.proof import Proof
from yantra.collectives.schedule import Schedule


class Message(NamedTuple):
    src: int
    dst: int
    share: Fraction
    reduce: bool


class Rounds(NamedTuple):
    members: tuple[str, ...]
    rounds: tuple[tuple[Message, ...], ...]

    def sent(self) -> list[Fraction]:
        sums = [Fraction(0)] * len(self.members)
        for round_ in self.rounds:
            for each in round_:
                sums[each.src] += each.share
        return sums


def of_schedule(schedule: Schedule) -> Rounds:
    """A schedule's messages, in shares of its `data`."""
    rounds = tuple(
        tuple(
            Message(move.src, move.dst, Fraction(len(move.blocks), schedule.parts), move.reduce)
            for move in schedule.moves(round_)
        )
        for round_ in schedule.rounds
    )
    ranks = tuple(f"rank {position}" for position in range(schedule.n))
    return Rounds((*ranks, *schedule.switches), rounds)


def of_program(proof: Proof) -> Rounds:
    order = proof.order
    receiver = {send: receive for receive, send in order.sender.items()}
    level = [0] * len(order.events)
    rounds: list[list[Message]] = []
    for event in order.sequence:
        before = order.before[event]
        level[event] = max(
            (level[at] + (order.sender.get(event) == at) for at in before), default=0
        )
        if event not in receiver:
            continue
        receive, at = order.events[receiver[event]], level[event]
        share = Fraction(order.events[event].step.chunks, proof.chunks)
        while len(rounds) <= at:
            rounds.append([])
        adds = receive.step.kind.startswith("rr")
        rounds[at].append(Message(order.events[event].gpu, receive.gpu, share, adds))
    names = tuple(f"rank {gpu.id}" for gpu in proof.program.gpus)
    return Rounds(names, tuple(tuple(sorted(round_)) for round_ in rounds))
