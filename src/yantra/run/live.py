"""Work that arrives: a run to which jobs are handed while it goes on.

    run = live.start(scenario, jobs={"step": {0: trace, 1: trace}})
    run.submit("step", at_ns=5e6, on_end=lambda job: run.submit("step"))
    result = run.finish()

Every rank is run: none can represent others while decisions are still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from yantra import _core
from yantra.base.errors import ConfigError, DeadlockError, UnsupportedError
from yantra.chakra import Trace
from yantra.compile import Model, compile
from yantra.compile.limits import longest_ns
from yantra.result import Result
from yantra.run.deadlock import explain, lost
from yantra.run.late import too_late
from yantra.run.work import check_work
from yantra.scenario import Scenario

_EVENTS_PER_SLICE = 20_000  # interrupts are heard between slices


class SubmittedJob:
    """A submitted job; times in ns from the start."""

    def __init__(self, run: LiveRun, name: str, number: int) -> None:
        self.name = name
        self._run = run
        self._number = number

    @property
    def begun_ns(self) -> float | None:
        """Its begin, or None."""
        return self._run._ns(self._arrival.begun)

    @property
    def ended_ns(self) -> float | None:
        """End of its last node, or None."""
        return self._run._ns(self._arrival.ended)

    def withdraw(self) -> bool:
        """Take the job back; False if begun or taken back."""
        return self._run._simulation.withdraw(self._number)

    @property
    def _arrival(self) -> _core.ArrivedJobs:
        return self._run._simulation.arrival(self._number)


OnEnd = Callable[[SubmittedJob], object]
"""Called at a job's end, with the clock there; may submit more."""


class LiveRun:
    """A run until nothing is left. Made by `start`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        check_work(model)
        self._simulation = _core.Simulation(model.native)
        self._waiting: dict[int, tuple[SubmittedJob, OnEnd | None]] = {}
        try:
            self._simulation.start()
        except _core.TooLong:
            raise too_late(model, self._simulation.late) from None

    @property
    def now_ns(self) -> float:
        """The run's time in ns."""
        return self._simulation.now / self.model.ticks_per_ns

    def submit(
        self, name: str, *, at_ns: float | None = None, on_end: OnEnd | None = None
    ) -> SubmittedJob:
        """Submit a job known to `start`, at a time or now.

        `on_end` is called after its last node. Raises ConfigError for an unknown name or a past
        time.
        """
        if name not in self.model.arrivals:
            known = ", ".join(self.model.arrivals) or "none"
            raise ConfigError(name, f"not one of the jobs of this run; expected one of: {known}")
        tick = self._simulation.now
        if at_ns is not None:
            most = longest_ns(self.model.ticks_per_ns)
            if not at_ns <= most:
                raise ConfigError("at_ns", f"must be at most {most} ns; got {at_ns:g} ns")
            tick = round(at_ns * self.model.ticks_per_ns)
        if tick < self._simulation.now:
            problem = f"{at_ns:g} ns has passed; it is {self.now_ns:g} ns now"
            raise ConfigError("at_ns", problem)
        ranks, jobs = self.model.arrivals[name]
        number = self._simulation.submit(ranks, jobs, tick)
        submitted = SubmittedJob(self, name, number)
        self._waiting[number] = (submitted, on_end)
        return submitted

    def finish(self) -> Result:
        """Run to the end, calling back at jobs' ends.

        The result has the nodes of the scenario's workload; ends of ranks and loads of links are of
        all work. Raises DeadlockError where ranks wait forever.
        """
        over = False
        while not over:
            try:
                over = self._simulation.run_for(_EVENTS_PER_SLICE)
            except _core.Unsupported as error:
                raise UnsupportedError(str(error)) from None
            except _core.TooLong:
                raise too_late(self.model, self._simulation.late) from None
            for number in self._simulation.take_ended():
                job, on_end = self._waiting.pop(number)
                if on_end is not None:
                    on_end(job)
                    over = False
        outcome = self._simulation.outcome()
        if not outcome.finished and self._waiting:
            names = [job.name for job, _ in self._waiting.values()]
            raise DeadlockError("\n".join([_never_ends(names), *lost(self.model, outcome)]))
        if not outcome.finished:
            raise DeadlockError(explain(self.model, outcome))
        return Result(self.model, outcome)

    def _ns(self, tick: int | None) -> float | None:
        return None if tick is None else tick / self.model.ticks_per_ns


def _never_ends(names: Sequence[str]) -> str:
    return (
        f"never ends: {', '.join(names)}; ranks wait for messages or collectives that nobody else "
        "enters. Run each as the workload of a scenario of its own to see which nodes wait"
    )


def start(scenario: Scenario, jobs: Mapping[str, Mapping[int, Trace]]) -> LiveRun:
    """Compile a scenario with jobs that may arrive, and start it.

    `jobs`: by name, each rank's trace. Raises as `yantra.compile`, and UnsupportedError for a
    workload without traces.
    """
    return LiveRun(compile(scenario, jobs))
