"""The laws that every collective algorithm keeps, and the contract that checks them.

    yantra contract collective ring
    yantra contract collective path/to/my_algorithm.py

A law returns what is wrong at a kind and supported number of positions, or None. Other tests check
that faithful programs are ASTRA-sim's.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import lcm

from yantra.base import contract
from yantra.base.contract import Contract, asked
from yantra.collectives import find
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.check import find_violation
from yantra.collectives.program import ExchangeProgram, Op, Program, Run
from yantra.collectives.schedule import Kind, Schedule, final_fraction

SIZES = (*range(2, 18), 32, 64)

Law = Callable[[CollectiveAlgorithm, Kind, int], str | None]


def schedule_is_proven(algorithm: CollectiveAlgorithm, kind: Kind, n: int) -> str | None:
    """The schedule performs its collective."""
    schedule = algorithm.schedule(kind, n)
    if (schedule.kind, schedule.n) != (kind, n):
        return f"the schedule is a {schedule.kind} over {schedule.n} positions"
    return find_violation(schedule)


def programs_send_what_the_schedule_says(
    algorithm: CollectiveAlgorithm, kind: Kind, n: int
) -> str | None:
    """Programs that take turns share the data, and together send the schedule's messages."""
    schedule = algorithm.schedule(kind, n)
    for programs in _program_sets(algorithm, kind, n):
        data = _divisible_size(schedule, programs)
        share = data // len(programs)
        ours = Counter(message for program in programs for message in program.messages(share))
        surplus, lack = _difference(ours, Counter(schedule.messages(data)))
        if surplus or lack:
            return f"of {data} bytes, programs send in excess {surplus} and too little {lack}"
    return None


def every_send_has_its_receive(algorithm: CollectiveAlgorithm, kind: Kind, n: int) -> str | None:
    """What a program sends, it receives from the expected source."""
    schedule = algorithm.schedule(kind, n)
    for programs in _program_sets(algorithm, kind, n):
        data = _divisible_size(schedule, programs)
        for program in programs:
            sends, receives = Counter(program.messages(data)), Counter(program.receives(data))
            surplus, lack = _difference(sends, receives)
            if surplus or lack:
                return f"of {data} bytes, sent and not awaited {surplus}, not sent {lack}"
    return None


def every_added_byte_is_charged_once(
    algorithm: CollectiveAlgorithm, kind: Kind, n: int
) -> str | None:
    """Plain programs charge the reductions that the schedule adds at each position; switches add
    free.
    """
    schedule = algorithm.schedule(kind, n)
    added = [Fraction(0)] * schedule.members
    for round_ in schedule.rounds:
        for move in schedule.moves(round_):
            if move.reduce:
                added[move.dst] += Fraction(len(move.blocks), schedule.parts)
    programs = algorithm.programs(kind, n)
    for position in range(n):
        charged = sum(_charged(program, position) for program in programs) / len(programs)
        if charged != added[position]:
            return f"position {position} adds {added[position]} of the data, charged {charged}"
    return None


def programs_leave_the_size_of_the_collective(
    algorithm: CollectiveAlgorithm, kind: Kind, n: int
) -> str | None:
    """Every program is for n positions and says how much data each has afterwards."""
    for programs in _program_sets(algorithm, kind, n):
        for program in programs:
            told = (program.final_num, program.final_den)
            if told != final_fraction(kind, n) or program.n != n:
                return f"a program for {program.n} positions leaves {told[0]}/{told[1]} of the data"
    return None


LAWS: tuple[Law, ...] = (
    schedule_is_proven,
    programs_send_what_the_schedule_says,
    every_send_has_its_receive,
    every_added_byte_is_charged_once,
    programs_leave_the_size_of_the_collective,
)


def supported_sizes(algorithm: CollectiveAlgorithm, kind: Kind) -> list[int]:
    """Those of SIZES that an algorithm supports."""
    return [n for n in SIZES if algorithm.supports(kind, n) is None]


def violations(algorithm: CollectiveAlgorithm) -> Iterator[str]:
    """What is wrong with an algorithm, for every kind, size and law."""
    if not algorithm.kinds:
        yield "its kinds are empty; expected the collectives that it performs"
    for kind in sorted(algorithm.kinds):
        sizes = supported_sizes(algorithm, kind)
        if not sizes:
            reason = algorithm.supports(kind, SIZES[0])
            yield f"{kind}: it supports none of {', '.join(map(str, SIZES))} positions: {reason}"
        for n in sizes:
            for law in LAWS:
                wrong = asked(law, algorithm, kind, n)
                if wrong:
                    yield f"{kind} over {n} positions: {law.__name__}: {wrong}"


def summary(algorithm: CollectiveAlgorithm) -> str:
    """The sizes over which each kind is proven."""
    return "\n".join(
        f"{kind}: proven over {', '.join(map(str, supported_sizes(algorithm, kind)))} positions"
        for kind in sorted(algorithm.kinds)
    )


CONTRACT = Contract(
    kind="collective algorithm",
    module="yantra.collectives.contract",
    about="Check a collective algorithm: proofs of its schedules, and its programs.",
    argument="a name (ring, direct4), or a file with a line PLUGIN =",
    find=find,
    violations=violations,
    summary=summary,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the algorithm named on the command line; return the exit status."""
    return contract.main(CONTRACT, arguments)


def _program_sets(
    algorithm: CollectiveAlgorithm, kind: Kind, n: int
) -> Iterator[tuple[Program, ...]]:
    yield algorithm.programs(kind, n)
    if algorithm.supports(kind, n, faithful=True) is None:
        yield algorithm.programs(kind, n, faithful=True)
        yield algorithm.programs(kind, n, faithful=True, ring_kind="group")


def _divisible_size(schedule: Schedule, programs: tuple[Program, ...]) -> int:
    dens = {step.den for program in programs for step in _steps(program)}
    return lcm(schedule.parts, *dens) * len(programs)


def _steps(program: Program) -> Iterator[Run | Op]:
    if isinstance(program, ExchangeProgram):
        yield from program.runs
    else:
        for ops in program.ops:
            yield from ops


def _charged(program: Program, position: int) -> Fraction:
    if isinstance(program, ExchangeProgram):
        return sum(
            (run.count * Fraction(run.reduce_num, run.reduce_den) for run in program.runs),
            Fraction(0),
        )
    ops = program.ops[position if program.symmetry == "none" else 0]
    return sum((Fraction(op.reduce_num, op.reduce_den) for op in ops), Fraction(0))


Messages = Counter[tuple[int, int, int]]


def _difference(ours: Messages, theirs: Messages) -> tuple[str, str]:
    return _first(ours - theirs), _first(theirs - ours)


def _first(messages: Messages) -> str:
    for (src, dst, size), times in sorted(messages.items()):
        return f"{times} x {size} bytes from {src} to {dst}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
