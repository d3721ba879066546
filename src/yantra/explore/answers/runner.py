"""Simulates plans of a search with their cost; plans share steps and events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, ConfigError
from yantra.explore.answers.causes import PARTS
from yantra.explore.answers.offloads import offloaded
from yantra.explore.answers.ranked import Ranked, best_of_kinds, kind_of
from yantra.explore.answers.refine import (
    Rows,
    forced,
    is_allowed,
    parts_after,
    refine,
    scheduled,
)
from yantra.explore.answers.stages import balanced
from yantra.explore.answers.sure import sure_of
from yantra.explore.closed_form.exact import MOST_EVENTS, Budget, Exact
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import USUAL, Works
from yantra.fabric.clusters.ownership import kwh, rates_of
from yantra.result.energy import device_joules
from yantra.result.figures import utilisation
from yantra.result.what_ran import about_of
from yantra.scenario import Scenario, Templates
from yantra.workloads.plan.check import facts_of, problems
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from yantra.explore.answers.refine import Choices
    from yantra.explore.closed_form.closed_form import Judged
    from yantra.explore.closed_form.space import Columns, PlanSpace
    from yantra.fabric.clusters.types import Cluster
    from yantra.result import Result
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.templates import Workload

_MOST = 12
_NEAREST = {True: 96, False: 4}  # of a small space, and of a large one
_BAND = 0.035  # nine in ten closed forms are within it; `benchmarks.closed_form_error`
_KEPT = 8  # steps, up to 200 MB each for a large model
_RUNS = 6  # of the fastest kinds, up to 1 GB each


class Shared:
    """What searches for one model share between clusters: works by plan, and steps."""

    def __init__(self, model: Any, sequence: int | None, held: Plan = USUAL) -> None:
        self._model, self._sequence = model, sequence
        self.works = Works(model, sequence or model.sequence, held)
        self._steps: dict[Plan, Workload] = {}

    def step(self, plan: Plan) -> Workload:
        if plan not in self._steps:
            while len(self._steps) >= _KEPT:
                del self._steps[next(iter(self._steps))]
            self._steps[plan] = train(self._model, plan, self._sequence)
        return self._steps[plan]


class _Run(NamedTuple):
    time_ns: float
    plan: Plan
    exact: Exact


class Runner:
    """Simulates rows of a space on a machine, and plans made from them."""

    def __init__(
        self,
        model: Any,
        cluster: Cluster,
        space: PlanSpace,
        columns: Columns,
        judged: Judged,
        shared: Shared,
        stack: str,
        choices: Choices,
    ) -> None:
        self.cluster, self.space, self.shared = cluster, space, shared
        self.columns, self.judged, self.choices = columns, judged, choices
        self.budget = Budget()
        self._runs: dict[tuple[Any, ...], _Run] = {}
        self.simulated = 0
        self.parts = parts_for(cluster, space.ranks, space.dtype, stack)
        self.rates = rates_of(cluster)
        self._facts, self._sequence = facts_of(model), space.sequence or model.sequence
        self.tokens = space.global_batch * self._sequence
        self._forced = forced(choices)

    def all_of(
        self,
        order: np.ndarray,
        top: int,
        tell: Callable[[str], None] | None,
        fits: np.ndarray,
        small: bool,
    ) -> list[Ranked]:
        seen: set[int] = set()
        found: list[Ranked] = []
        for number, row in enumerate(order):
            if number >= top and self._is_beyond(int(row), found):
                break
            if number >= max(_MOST, top):
                break
            if tell is not None:
                tell(f"{self.cluster.name}: simulating plan {number + 1}")
            seen.add(int(row))
            one = self.one(int(row))
            if one is not None:
                found.append(one)
        if not found:
            raise CapacityError("memory", "none of the best plans fits once its step is made")
        found += self._nearest(seen, found, fits, small, tell)
        return best_of_kinds(found)

    def _nearest(
        self,
        seen: set[int],
        found: list[Ranked],
        fits: np.ndarray,
        small: bool,
        tell: Callable[[str], None] | None,
    ) -> Iterator[Ranked]:
        exact = [one for one in found if not one.not_simulated]
        if not exact:
            return
        band = max(_BAND, *(one.error for one in exact))
        best = min(one.time_ns for one in exact)
        times = self.judged.time_ns
        near = np.flatnonzero(fits & (times * (1 - band) <= best))
        rows = [int(row) for row in near[np.argsort(times[near], kind="stable")]]
        for number, row in enumerate([row for row in rows if row not in seen][: _NEAREST[small]]):
            if tell is not None:
                tell(f"{self.cluster.name}: simulating plan {len(seen) + number + 1}")
            one = self.one(row)
            if one is not None and not one.not_simulated:
                yield one

    def _is_beyond(self, row: int, found: list[Ranked]) -> bool:
        exact = [one.error for one in found if not one.not_simulated]
        if found and not exact:
            return True
        band = max(exact, default=1.0)
        best = min((one.time_ns for one in found), default=np.inf)
        return float(self.judged.time_ns[row]) * (1 - band) > best

    def refined(
        self, found: list[Ranked], fits: np.ndarray, tell: Callable[[str], None] | None
    ) -> list[Ranked]:
        """Return the plans found, and improved by further fields, the best of each kind."""
        exact = best_of_kinds(one for one in found if not one.not_simulated)
        if exact:
            if tell is not None:
                tell(f"{self.cluster.name}: trying schedules and further fields")
            best = exact[0].time_ns
            rows = Rows(self.columns, self.judged, fits, self.space.global_batch)
            how = self._from_row, self._is_legal, self.choices
            more = offloaded(rows, best, *how)
            more += scheduled(rows, min((best, *(one.time_ns for one in more))), *how)
            more += refine(best_of_kinds(exact + more), self._changed, self.choices)
            own = self._changed, self.choices, self._facts.layers, self._result
            more += balanced(best_of_kinds(exact + more), *own)
            found = found + more
        allowed = [one for one in found if is_allowed(one.plan, self.choices)]
        if not allowed:
            names = ", ".join(self.choices["schedule"])
            raise ConfigError(
                "schedule", f"no plan that fits can have {names}, of those tried; allow others"
            )
        return best_of_kinds(allowed)

    def _is_legal(self, row: int, changes: Mapping[str, Any]) -> bool:
        plan = self.space.plan(self.columns, row, **(self._forced | dict(changes)))
        return not any(problems(plan, self._facts, self._sequence))

    def _from_row(self, row: int, changes: Mapping[str, Any], cause: str) -> Ranked | None:
        plan = self.space.plan(self.columns, row, **(self._forced | dict(changes)))
        return self._other(plan, self._parts(row), cause)

    def _changed(self, before: Ranked, plan: Plan, cause: str) -> Ranked | None:
        one = self._other(plan, before.parts_ns, cause)
        return None if one is None or one.not_simulated else one

    def _result(self, plan: Plan) -> Result | None:
        return self._exact(plan).result

    def _other(self, plan: Plan, parts: Sequence[float], cause: str) -> Ranked | None:
        if self.budget.is_spent or any(problems(plan, self._facts, self._sequence)):
            return None
        try:
            return self._simulated(plan, parts, cause)
        except ConfigError:
            return None  # its schedule or its stages break a rule of their own

    def one(self, row: int) -> Ranked | None:
        plan = self.space.plan(self.columns, row, **self._forced)
        return self._simulated(plan, self._parts(row), kernel_j=float(self.judged.kernel_j[row]))

    def _parts(self, row: int) -> tuple[float, ...]:
        return tuple(float(getattr(self.judged, f"{name}_ns")[row]) for name in PARTS)

    def _simulated(
        self, plan: Plan, parts: Sequence[float], cause: str = "", kernel_j: float = 0.0
    ) -> Ranked | None:
        """Simulate a plan with the closed form's parts, or the parts before a `cause` changed.

        `kernel_j` is the closed form's, for a plan that is not simulated. None if it does not fit.
        """
        workload = self.shared.step(plan)
        need = max(workload.peaks().values())
        if need > self.cluster.usable_bytes:
            return None
        exact = self.budget.simulate(self._scenario(plan))
        self.simulated += exact.result is not None
        closed = sum(parts)
        time = closed if exact.result is None else exact.result.makespan_ns
        self._keep(_Run(time, plan, exact))
        took = parts_after(parts, time, cause)
        joules = self._joules(exact, time, plan.ranks, kernel_j)
        cost = self.rates.cost_usd(time / 1e9, plan.ranks)
        return Ranked(
            plan=plan,
            time_ns=time,
            closed_ns=closed,
            memory_bytes=need,
            mfu=utilisation(exact.model, about_of(exact.model), time).get("mfu"),
            tokens_per_s=self.tokens / time * 1e9,
            cost_usd=cost,
            usd_per_million_tokens=None if cost is None else cost / self.tokens * 1e6,
            energy_j=joules,
            kwh_per_million_tokens=None if joules is None else kwh(joules) / self.tokens * 1e6,
            parts_ns=took,
            not_simulated=exact.reason,
            refined=bool(cause),
        )

    def _joules(self, exact: Exact, time: float, ranks: int, kernel_j: float) -> float | None:
        if exact.result is None:
            return self.rates.energy_j(time / 1e9, ranks, kernel_j)
        own = device_joules(exact.model, exact.result.outcome)
        return None if own is None else own * self.rates.pue

    def _keep(self, run: _Run) -> None:
        kind = kind_of(run.plan)
        if kind not in self._runs or run.time_ns < self._runs[kind].time_ns:
            self._runs[kind] = run
        if len(self._runs) > _RUNS:
            del self._runs[max(self._runs, key=lambda one: self._runs[one].time_ns)]

    def _exact(self, plan: Plan, not_simulated: str = "") -> Exact:
        kept = self._runs.get(kind_of(plan))
        if kept is not None and kept.plan == plan:
            return kept.exact
        return Budget(0 if not_simulated else MOST_EVENTS).simulate(self._scenario(plan))

    def with_sure(self, ranked: list[Ranked]) -> tuple[Ranked, ...]:
        if self.parts.get("stack") is None:
            return tuple(ranked)
        exacts = [self._exact(one.plan, one.not_simulated) for one in ranked]
        found = sure_of([one.time_ns for one in ranked], exacts)
        return tuple(one._replace(sure=of) for one, of in zip(ranked, found, strict=True))

    def _scenario(self, plan: Plan) -> Scenario:
        return Scenario(workload=Templates(workload=self.shared.step(plan)), **self.parts)
