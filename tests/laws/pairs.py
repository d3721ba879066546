"""Laws of a job and a changed job: what the change may do to the times of ranks."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import NamedTuple

from tests.laws.anomalies import spans, witness
from tests.laws.cases import Case, Run, any_case, differing, job_for
from tests.laws.changes import (
    doubled,
    faster_place,
    grown,
    relabelling,
    scaled,
    shaken,
    whole_picoseconds,
)
from tests.laws.jobs import SYMMETRIC, Job, Step, iterated
from tests.laws.places import Place, place


def _controlled_by_nothing(on: Place) -> Place:
    return on if on.network != "packet" else on._replace(network="packet without control")


def _fixed_routes(draw: Random, network: str) -> Case | None:
    on, job, _ = any_case(draw, network)
    if on.cables:
        on = on._replace(routing="shortest")
    elif on.hashes_routes:
        return None
    if network == "packet":
        job = job.staggered(draw)
    return Case(_controlled_by_nothing(on), job)


def draw_doubled(draw: Random, network: str) -> Case | None:
    case = _fixed_routes(draw, network)
    other = doubled(draw, case.place) if case else None
    return case._replace(change=other) if case and other else None


def replica(case: Case) -> str:
    n, other = case.job.ranks, case.change
    alone = Run(case.place, case.job.in_groups()).finish
    here = case.job.on(lambda rank: rank, 2 * n)
    there = case.job.on(lambda rank: rank + n, 2 * n)
    return differing(Run(other, here.beside(there)).finish, alone * 2)


def draw_idle(draw: Random, network: str) -> Case | None:
    case = _fixed_routes(draw, network)
    other = (grown(draw, case.place) or doubled(draw, case.place)) if case else None
    return case._replace(change=other) if case and other else None


def idle(case: Case) -> str:
    n, other = case.job.ranks, case.change
    alone = Run(case.place, case.job.in_groups()).finish
    among = Run(other, case.job.on(lambda rank: rank, other.ranks)).finish
    return differing(among, alone + [0] * (other.ranks - n))


def draw_grouped(draw: Random, network: str) -> Case | None:
    case = any_case(draw, network)
    return case if any(step.bare for step in case.job.steps) else None


def grouped(case: Case) -> str:
    bare = Run(case.place, case.job.of_all()).finish
    return differing(Run(case.place, case.job.in_groups()).finish, bare)


def draw_relabelled(draw: Random, network: str) -> Case:
    on = place(draw, network, ("dimensions", "cluster"))
    job = job_for(draw, on, SYMMETRIC).staggered(draw)
    return Case(on, job, relabelling(draw, on, job))


DRAWS = 8


def relabelled(case: Case) -> str:
    """Where routes are hashed, ends are drawn anew: two times `DRAWS` of them must not be apart."""
    new = case.change
    other = case.job.on(new.__getitem__, case.job.ranks)
    if not case.place.hashes_routes:
        finish = Run(case.place, other).finish
        rounds = len(case.job.steps) if case.place.network == "flow" else 0  # sums in other orders
        return differing([finish[at] for at in new], Run(case.place, case.job).finish, rounds)
    seeded = [case.place._replace(seed=seed) for seed in range(1, 2 * DRAWS + 1)]
    before = sorted(Run(on, case.job).makespan for on in seeded[:DRAWS])
    after = sorted(Run(on, other).makespan for on in seeded[DRAWS:])
    if before[-1] < after[0] * (1 - 1e-3) or after[-1] < before[0] * (1 - 1e-3):
        return f"with routes drawn anew it takes {before} ps, numbered anew {after}"
    return ""


def draw_scaled(draw: Random, network: str) -> Case:
    """Where links serve one after the other, picoseconds hold all times: rounded times could change
    the order in which messages are served.
    """
    on, job, _ = any_case(draw, network)
    by = draw.choice((2, 3, 10))
    if network == "analytical":
        on = whole_picoseconds(on)
    if network == "packet":
        return Case(whole_picoseconds(_controlled_by_nothing(on)), job.staggered(draw), 2)
    return Case(on, job, by)


def units(case: Case) -> str:
    """Each message, packet or step is rounded to a picosecond, once for each link."""
    text = _out_of_scale(case).text
    return "" if text and rounded(case) else text


class _OutOfScale(NamedTuple):
    text: str
    by_ps: float


def _out_of_scale(case: Case) -> _OutOfScale:
    by = case.change
    before = Run(case.place, case.job)
    after = Run(scaled(case.place, by), case.job).finish
    steps = 8 * (before.outcome.messages + len(case.job.steps) + 10)
    if case.place.network == "flow":  # a picosecond may decide which of two flows is first
        steps += max(before.finish) // 10_000
    text = differing(after, [by * end for end in before.finish], by * steps)
    pairs = zip(after, before.finish, strict=True)
    return _OutOfScale(text, max(abs(one / by - other) for one, other in pairs))


_PICOSECOND = "picoseconds more move an end by half of that, or more"
"""Of two flows that share a link evenly, each ends later by twice what it began later, and earlier
by what the other did, so of two that share again and again an end moves by more each time.

With C the rate, a of A's bytes and b of B's, where A is through first: A ends at
2 a / C + 2 s_A - s_B for the starts s_A < s_B, so what rounds a start moves it up to threefold. And
where two things happen at once, a picosecond decides which of them is first.
"""
_SHAKES = 16


def rounded(case: Case) -> str:
    if case.place.network != "flow" or not (found := _out_of_scale(case)).text:
        return ""
    alone = Run(case.place, case.job).finish
    draw = Random(0)
    for _ in range(_SHAKES):
        other = Run(shaken(draw, case.place), case.job.shaken(draw))
        ends = zip(other.finish, alone, strict=True)
        if max(abs(end - before) for end, before in ends) >= found.by_ps / 2:
            return _PICOSECOND
    return ""


def draw_split(draw: Random, network: str) -> Case:
    whole = network in ("store_and_forward", "external")  # a message crosses links whole
    on = place(draw, network, ("dimensions",) if whole else ("dimensions", "cluster", "fabric"))
    if whole:
        _, *rest = on.dims[0]
        on = on._replace(dims=(("fully_connected", *rest), *on.dims[1:]))
    ends = (0, 1) if whole else tuple(draw.sample(range(on.ranks), 2))
    size = draw.choice((10_000, 65_536, 100_003, 1 << 20))
    job = Job(on.ranks, (Step(0, "message", ends, size, ((), ())),))
    return Case(on, job, (draw.randrange(2, 9), draw.random() < 0.5))


def _in_parts(message: Step, count: int, chained: bool) -> tuple[Step, ...]:
    sizes = [message.size // count + (at < message.size % count) for at in range(count)]
    return tuple(
        message._replace(number=at, size=size, after=(((at - 1,) if chained and at else ()), ()))
        for at, size in enumerate(sizes)
    )


def split(case: Case) -> str:
    """A byte, or a packet, alone takes a latency, a header and what ends a message."""
    count, chained = case.change
    (message,) = case.job.steps
    whole = Run(case.place, case.job).makespan
    parts = Run(case.place, Job(case.job.ranks, _in_parts(message, count, chained))).makespan
    least = 1000 if case.place.network == "packet" else 1
    one = Run(case.place, case.job.changed(message.number, least)).makespan
    if parts < whole - count:
        return f"{count} parts take {parts} ps, the whole {whole}"
    most = whole + (count - 1) * one + count
    return f"{count} parts take {parts} ps, at most {most} expected" if parts > most else ""


def draw_faster(draw: Random, network: str) -> Case:
    case = any_case(draw, network)
    if draw.random() < 0.3:
        on = place(draw, network, ("dimensions", "cluster"))
        case = Case(on, job_for(draw, on).in_turn())
    if case.job.steps and draw.random() < 0.5:
        step = draw.choice(case.job.steps)
        less = max(1, int(step.size * draw.choice((0.1, 0.5, 0.9, 0.99))))
        return case._replace(change=("step", step.number, less))
    return case._replace(change=("place", faster_place(draw, case.place)))


def faster(case: Case) -> str:
    """What happens one after the other is never slower; else there is a witness (`anomalies`)."""
    after, anomaly = _slower(case)
    shares = case.place.cables or case.place.network == "packet"  # within a collective, too
    strict = case.job.is_in_turn and not shares
    if not anomaly or (not strict and witnessed(case)):
        return ""
    return f"with the faster part it takes {after} ps, {anomaly:+.4%}"


def _with_faster_part(case: Case) -> tuple[Run, Run]:
    what, *to = case.change
    before = Run(case.place, case.job)
    on, job = (to[0], case.job) if what == "place" else (case.place, case.job.changed(*to))
    return before, Run(on, job)


def _slower(case: Case) -> tuple[int, float]:
    before, after = _with_faster_part(case)
    late = after.makespan - before.makespan
    slack = 10 * len(case.job.steps)
    if case.place.collectives.chunks is None:  # as many as save a thousandth
        slack += before.makespan // 1000
    return after.makespan, late / before.makespan if late > slack else 0.0


def _without_control(case: Case) -> Case:
    what, *to = case.change
    change = (what, _controlled_by_nothing(to[0])) if what == "place" else case.change
    return case._replace(place=_controlled_by_nothing(case.place), change=change)


_WINDOWS = "the congestion control makes it slower, without which it is not"
"""Windows are those of the base round trip, without headers and answers, and marks are drawn.

Of a message over two links of 0.7 bytes/ns without latency 2,000 bytes may be under way, two
packets in 3,097 ns; with a latency of 1 ns they are 2,002, which is three, so the link is full.
"""


def witnessed(case: Case) -> str:
    if not _slower(case)[1]:
        return ""
    if case.place.network == "packet" and not _slower(_without_control(case))[1]:
        return _WINDOWS
    before, after = (spans(run, case.job) for run in _with_faster_part(case))
    return witness(case.job, before, after, slack=len(case.job.steps))


TURNS = 20
LONGEST_PERIOD = 6


def draw_iterated(draw: Random, network: str) -> Case:
    on = _controlled_by_nothing(place(draw, network))
    job = job_for(draw, on)
    most = 2 if network == "external" else 5  # which takes a process, and a while
    return Case(on, job._replace(steps=job.steps[:most]))


def iterations(case: Case) -> str:
    """The steady state of a max-plus system has a period, mostly of one iteration. It is the length
    of the critical circuit in iterations (Baccelli et al., "Synchronization and Linearity", 1992,
    section 3.7).
    """
    on_packets = case.place.network.startswith("packet")
    differ = 5e-2 if on_packets else 1e-3
    ends: list[int] = []
    for longest in sorted({LONGEST_PERIOD, max(LONGEST_PERIOD, case.job.ranks)}):
        turns = range(TURNS, TURNS + longest + 2)
        if on_packets:
            ends = _ends_in_one_run(case, turns)
        else:
            more = turns[len(ends) :]
            ends += [Run(case.place, iterated(case.job, many)).makespan for many in more]
        for period in range(1, longest + 1):
            costs = [after - before for before, after in zip(ends, ends[period:], strict=False)]
            if max(costs) - min(costs) <= max(2 * TURNS, differ * max(costs)):
                return ""
    steps = [after - before for before, after in pairwise(ends)]
    return f"iterations {TURNS + 1} to {turns[-1]} cost {steps} ps"


def _ends_in_one_run(case: Case, turns: range) -> list[int]:
    """Packets of one tick go in an order of the whole job, which one more iteration changes."""
    job = iterated(case.job, turns[-1])
    run = Run(case.place, job)
    ends = [span.end for span in spans(run, job).values()]
    each = len(job.steps) // turns[-1]
    return [ends[each * many - 1] * 1000 // run.per_ns for many in turns]


def later(case: Case) -> str:
    alone = Run(case.place, case.job)
    more = case.job.followed(2 * alone.makespan + 1)
    before, after = spans(alone, case.job), spans(Run(case.place, more), more)
    for step in case.job.steps:
        if before[step.number] != after[step.number]:
            return f"{step} takes {after[step.number]} ticks, alone {before[step.number]}"
    return ""
