"""Several jobs on one cluster: how long each takes beside the others, and alone on its ranks.

One model holds all of them. It is run once with every job, and once for each job with that job
alone on the same ranks. So the two times differ only by what the jobs do to each other. Every rank
is run: none stands for others. The runs alone cost together about as much as the run of all.
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
    """A job; times in ns, from when it begins until its last node has ended."""

    job: Job
    together_ns: float
    alone_ns: float

    @property
    def slowdown(self) -> float:
        """How many times as long it takes beside the others as alone; 1 where it takes no time."""
        return self.together_ns / self.alone_ns if self.alone_ns else 1.0


class Together(NamedTuple):
    """What several jobs did. `alone` has the result of each job by itself.

    `disturbed` is what failures and background did to all of them; None if there were none.
    """

    times: tuple[JobTimes, ...]
    result: Result
    alone: tuple[Result, ...]
    disturbed: Disturbed | None = None

    @property
    def end_ns(self) -> float:
        """When the last job ended."""
        return max(one.job.at_ns + one.together_ns for one in self.times)


def compiled(jobs: Jobs, *, ignore_memory: bool = False) -> Model:
    """Return the model of all jobs, which arrive in it by their names.

    Raises what `yantra.compile` raises, and CapacityError where a job does not fit.
    """
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
    """Run jobs together, and each alone on the same ranks from the same time on.

    Raises ConfigError, TraceError, CapacityError or UnsupportedError before anything runs, and
    DeadlockError where a job cannot finish.
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
    """Run some of the jobs of a model; return the result and what each took, in ns."""
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
    """Return which jobs of a run that was interrupted have ended, and which have begun."""
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
    """Return the times of jobs together, and alone as far as they were run."""
    told = []
    for at, (job, mine) in enumerate(zip(jobs, together, strict=True)):
        own = f"alone {format_time(alone[at])}" if at < len(alone) else "alone not known"
        told.append(f"{job.name} {format_time(mine)}, {own}")
    return f"the jobs took together: {'; '.join(told)}"
