"""Laws of one job."""

from __future__ import annotations

from collections import Counter
from math import prod
from random import Random

from tests.laws.bounds import least_ns
from tests.laws.cases import Case, Run, any_case, job_for
from tests.laws.changes import damaged
from tests.laws.jobs import KINDS, Job, Step
from tests.laws.places import Place, place
from tests.oracles.folded_runs import columns, folded
from yantra.base.errors import DeadlockError, YantraError
from yantra.compile import compile
from yantra.result.network import dimension_uses, link_rates
from yantra.result.tables import breakdown
from yantra.run.simulate import run_native
from yantra.run.validate import Report, _check_workload


def rates(case: Case) -> str:
    done = Run(case.place, case.job)
    makespan_ns = done.makespan / 1000
    if not makespan_ns:
        return ""
    for use in dimension_uses(done.model, done.outcome, makespan_ns):
        if use.utilisation > 1 + 1e-9 or use.busy > 1 + 1e-9:
            return f"{use.label}: utilisation {use.utilisation:.4f}, busy {use.busy:.4f}"
    links = done.outcome.links
    for link, rate in zip(links, link_rates(done.model, links), strict=True):
        used = link.use
        if used.busy_ticks > max(done.outcome.finish):
            return f"{link.source} to {link.destination}: busy {used.busy_ticks} ticks of the run"
        if used.bytes / rate > makespan_ns + 0.001 * used.messages + 1e-6 * makespan_ns:
            return (
                f"{link.source} to {link.destination}: {used.bytes} B at {rate} in {makespan_ns} ns"
            )
    return _ports(case, done)


def _ports(case: Case, done: Run) -> str:
    """What messages put through the ports of a rank each way, in the first dimension they cross.

    A rank has one port on a switch, two on a ring, and one to each other rank of full connections.
    """
    if case.place.cables:
        return ""
    for leaving in (True, False):
        loads: Counter[tuple[int, int, int]] = Counter()
        for step in case.job.steps:
            if step.what == "message":
                loads[_port(case.place, *step.ranks, leaving)] += step.size
        for (rank, at, _), size in loads.items():
            kind, members, rate, _ = case.place.dims[at]
            ports = 2 if kind in ("ring", "mesh") and members > 2 else 1
            least = size / rate / ports * 1000
            if least > done.makespan + 1000:
                way = "leave" if leaving else "reach"
                return f"{size} B {way} rank {rank} at {rate} GB/s in {done.makespan} ps"
    return ""


def _port(place: Place, source: int, destination: int, leaving: bool) -> tuple[int, int, int]:
    strides = [prod(size for _, size, *_ in place.dims[:at]) for at in range(len(place.dims))]
    sizes = [size for _, size, *_ in place.dims]
    ends = [
        [end // stride % size for stride, size in zip(strides, sizes, strict=True)]
        for end in (source, destination)
    ]
    crossed = [at for at in range(len(sizes)) if ends[0][at] != ends[1][at]]
    at = crossed[0] if leaving else crossed[-1]
    to = ends[1 if leaving else 0][at] if place.dims[at][0] == "fully_connected" else 0
    return (source if leaving else destination), at, to


def draw_cut(draw: Random, network: str) -> Case:
    on = place(draw, network)
    members = tuple(range(on.ranks))
    bare = draw.random() < 0.5 or on.ranks == 2
    if not bare:
        counts = [
            count
            for count in range(2, on.ranks + 1)
            if not (on.needs_powers and count & (count - 1))
        ]
        members = tuple(sorted(draw.sample(members, draw.choice(counts))))
    kind, size = draw.choice(KINDS), draw.choice((4096, 100_003, 1 << 20, 1 << 22))
    step = Step(0, "collective", members, size, ((),) * len(members), kind, bare)
    return Case(on, Job(on.ranks, (step,)))


def cut(case: Case) -> str:
    (step,) = case.job.steps
    least = least_ns(case.place, step)
    took = Run(case.place, case.job).makespan / 1000
    return f"{took} ns, the cut bound is {float(least)}" if took < least * (1 - 1e-9) - 1 else ""


DAMAGES = ("none", "size", "receive", "send", "member", "peer", "tag")


def draw_checked(draw: Random, network: str) -> Case:
    return any_case(draw, network)._replace(change=draw.choice(DAMAGES))


def checked(case: Case) -> str:
    scenario = damaged(case.place.scenario(case.job), case.change)
    report = Report()
    _check_workload(report, scenario)
    try:
        run_native(compile(scenario))
        code = 0
    except YantraError as error:
        code = error.exit_code
    if report.exit_code != code:
        return f"validate ends with {report.exit_code}, run with {code} ({case.change} damaged)"
    return ""


def draw_folded(draw: Random, network: str) -> Case:
    on = place(draw, network)
    job = job_for(draw, on)
    return Case(on, job.alike() if draw.random() < 0.8 else job)


def whole(case: Case) -> str:
    """One rank for each class gives what all ranks give."""
    model = compile(case.place.scenario(case.job))
    short = folded(model)
    if short is None:
        return ""
    long = folded(model, shortcuts=False)
    whole = columns(model, run_native(model))
    if columns(model, short.outcome) != whole:
        return "one rank of each class gives other columns than all ranks"
    if long is not None and columns(model, long.outcome) != whole:
        return "one rank of each class gives other columns without shortcuts"
    return ""


def own_work(case: Case) -> str:
    finish = Run(case.place, case.job).finish
    fastest = case.place.fastest
    done: list[dict[int, int]] = [{} for _ in finish]
    kernels = [0] * len(finish)
    for step in case.job.steps:
        begins = [
            max((done[rank][one] for one in after), default=0)
            for rank, after in zip(step.ranks, step.after, strict=True)
        ]
        for rank, begin in zip(step.ranks, begins, strict=True):
            least = step.size if step.what == "kernel" else 0
            kernels[rank] += least
            done[rank][step.number] = begin + least
        if step.what == "message" and case.place.network != "ideal":
            there = begins[0] + int(step.size / fastest * 1000) - 1
            done[rank][step.number] = max(begins[1], there)
    for rank, end in enumerate(finish):
        least = max(kernels[rank], max(done[rank].values(), default=0))
        if end < least - 1000:
            return f"rank {rank} ends at {end} ps; its own work takes {least}"
    return ""


def sums(case: Case) -> str:
    done = Run(case.place, case.job)
    for rank, end in enumerate(done.outcome.finish):
        parts = breakdown(done.model, done.outcome, rank)
        if sum(parts) != end:
            return f"the parts of rank {rank}, {parts}, make {sum(parts)} ticks; it ends at {end}"
    return ""


def again(case: Case) -> str:
    first = Run(case.place, case.job)
    second = Run(case.place, case.job)
    for name in ("finish", "start", "end"):
        if list(getattr(first.outcome, name)) != list(getattr(second.outcome, name)):
            return f"another {name} when it is run again"
    return ""


def ends(case: Case) -> str:
    try:
        Run(case.place, case.job)
    except DeadlockError as error:
        return str(error).splitlines()[0]
    return ""
