"""Jobs on one cluster: each one's time beside the others, and alone on the same ranks of the same
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.units import format_time
from yantra.chakra import Trace
from yantra.compile import Model, compile
from yantra.result import Result
from yantra.result.disturbed import Disturbed
from yantra.run.disturbed import disturbed, drawn_further
from yantra.run.job_traces import place
from yantra.run.live import LiveRun, SubmittedJob
from yantra.scenario.jobs import Job, Jobs
from yantra.scenario.types import Groups, Traces


class JobTimes(NamedTuple):
    """A job; times in ns from begin to its last node's end."""

    job: Job
    together_ns: float
    alone_ns: float

    @property
    def slowdown(self) -> float:
        return self.together_ns / self.alone_ns if self.alone_ns else 1.0


class Together(NamedTuple):
    """What jobs did.

    `alone`: results by job. `disturbed`: effect of failures and background, or None.
    """

    times: tuple[JobTimes, ...]
    result: Result
    alone: tuple[Result, ...]
    disturbed: Disturbed | None = None

    @property
    def end_ns(self) -> float:
        return max(one.job.at_ns + one.together_ns for one in self.times)


def compiled(jobs: Jobs, *, ignore_memory: bool = False) -> Model:
    """The model of all jobs, arriving by name."""
    ranks = jobs.shared.topology.ranks
    machine = None if ignore_memory else jobs.shared.machine
    groups: Groups = ()
    arriving: dict[str, dict[int, Trace]] = {}
    for job in jobs.jobs:
        first = groups[-1][0] + 1 if groups else 1
        placed = place(job, ranks, first, machine)
        groups += placed.groups
        arriving[job.name] = placed.traces
    idle = Traces(traces=(Trace(),) * ranks, groups=groups)
    return compile(jobs.shared.replace(workload=idle), arriving)


def simulate(jobs: Jobs, *, ignore_memory: bool = False) -> Together:
    """Run jobs together, and each alone from the same time.

    Raises ConfigError, TraceError, CapacityError or UnsupportedError before the run, DeadlockError
    where a job cannot finish.
    """
    model = compiled(jobs, ignore_memory=ignore_memory)
    result, together = _run(model, jobs.jobs)
    while result.makespan_ns > model.failures.known_until_ns:
        model = drawn_further(model, result.makespan_ns)
        result, together = _run(model, jobs.jobs)
    alone: list[tuple[Result, list[float]]] = []
    try:
        for job in jobs.jobs:
            alone.append(_run(model, [job]))
    except KeyboardInterrupt as stop:
        stop.args = (_told(jobs.jobs, together, [own for _, (own,) in alone]),)
        raise
    times = [
        JobTimes(job, mine, own)
        for job, mine, (_, (own,)) in zip(jobs.jobs, together, alone, strict=True)
    ]
    told = disturbed(result, lambda calm: _run(calm, jobs.jobs)[0].makespan_ns)
    return Together(tuple(times), result, tuple(one for one, _ in alone), told)


def _run(model: Model, jobs: Sequence[Job]) -> tuple[Result, list[float]]:
    run = LiveRun(model)
    submitted = [run.submit(job.name, at_ns=job.at_ns) for job in jobs]
    try:
        result = run.finish()
    except KeyboardInterrupt as stop:
        stop.args = (f"the run had come to {format_time(run.now_ns)}: {_states(submitted)}",)
        raise
    took = []
    for one in submitted:
        assert one.begun_ns is not None and one.ended_ns is not None
        took.append(one.ended_ns - one.begun_ns)
    return result, took


def _states(jobs: Sequence[SubmittedJob]) -> str:
    told = []
    for job in jobs:
        if job.ended_ns is not None:
            told.append(f"{job.name} ended at {format_time(job.ended_ns)}")
        elif job.begun_ns is not None:
            told.append(f"{job.name} was under way since {format_time(job.begun_ns)}")
        else:
            told.append(f"{job.name} had not begun")
    return ", ".join(told)


def _told(jobs: Sequence[Job], together: Sequence[float], alone: Sequence[float]) -> str:
    told = []
    for at, (job, mine) in enumerate(zip(jobs, together, strict=True)):
        own = f"alone {format_time(alone[at])}" if at < len(alone) else "alone not known"
        told.append(f"{job.name} {format_time(mine)}, {own}")
    return f"the jobs took together: {'; '.join(told)}"
