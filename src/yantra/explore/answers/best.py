"""The best plans of a model on a cluster: all judged by closed forms, the best simulated exactly.

A kind of plan is its split, micro-batch and recomputation. Of each kind the best member stands for
the others, so the answer shows plans that differ in kind. The fastest kinds are simulated; the
largest error of the closed form among them is a band, and kinds whose closed form is within the
band of the best are simulated, too, twelve in all. So are all plans of a small space that the band
leaves near the best, whatever their kind; of a large one the nearest few. A plan whose simulation
would take too long has the closed form's time, and says so.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError
from yantra.base.text import format_bytes, room_text
from yantra.explore.answers.causes import PARTS
from yantra.explore.answers.sure import Sure, sure_of
from yantra.explore.closed_form.closed_form import ClosedForm, Judged
from yantra.explore.closed_form.exact import Budget, Exact
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import NO_ADAPTERS, Adapters, Works
from yantra.explore.closed_form.space import FIELDS, Columns, PlanSpace
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import Rates, kwh, rates_of
from yantra.fabric.stacks.choice import DEFAULT
from yantra.result.figures import utilisation
from yantra.result.what_ran import about_of
from yantra.scenario import Scenario, Templates
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yantra.fabric.clusters.types import Cluster
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.templates import Workload

KIND = ("tp", "cp", "ep", "pp", "micro_batch", "recompute")
_MOST = 12
_SMALL = 2_000  # plans of a space of which all within the band are simulated
_NEAREST = {True: 96, False: 4}  # of a small space, and of a large one
_BAND = 0.035  # nine tenths of closed forms are within it; `benchmarks.closed_form_error`
_NEAR = 1.25  # times the memory there is; a plan that needs more is not worth telling of
_KEPT = 24  # steps, some 20 MB each for a large model


class Ranked(NamedTuple):
    """One simulated plan: times in ns, of the step and by the closed form, and what follows.

    `not_simulated` says why the time is that of the closed form, and is empty where it is not.
    `parts_ns` is the closed form's time in the parts of `Judged`, scaled to the simulated time, so
    that differences of two plans by cause add up to the difference of their times. `sure` has the
    interval and the chance to win, None where the stack states none.
    """

    plan: Plan
    time_ns: float
    closed_ns: float
    memory_bytes: int
    mfu: float | None
    tokens_per_s: float
    cost_usd: float | None
    usd_per_million_tokens: float | None
    energy_j: float | None
    kwh_per_million_tokens: float | None
    parts_ns: tuple[float, float, float, float]
    not_simulated: str
    sure: Sure | None = None


class Lost(NamedTuple):
    """A plan that would be faster but does not fit: time by closed form in ns, bytes it lacks."""

    plan: Plan
    closed_ns: float
    lacks_bytes: int


class Answer(NamedTuple):
    """What a search on one cluster found.

    `legal` plans were checked, `judged` of them had their time counted: those that need at most
    a quarter more memory than there is. `error` is the closed form's largest on what was simulated,
    None where nothing was. `shown` are the fields that say which plan of the space one is. `stack`
    says at which speeds.
    """

    cluster: str
    capacity_bytes: int
    reserve_bytes: int
    legal: int
    judged: int
    fitting: int
    judged_s: float
    simulated: int
    error: float | None
    ranked: tuple[Ranked, ...]
    lost: tuple[Lost, ...]
    rates: Rates
    shown: tuple[str, ...] = FIELDS
    stack: str = DEFAULT


def best_plans(
    model: Any,
    cluster: Cluster | str,
    space: PlanSpace,
    *,
    top: int = 5,
    tell: Callable[[str], None] | None = None,
    shared: Shared | None = None,
    stack: str = DEFAULT,
) -> Answer:
    """Return the best plans of a space on a cluster, the fastest first.

    `shared` is that of an earlier search for the same model and sequence. `stack` says at which
    speeds, as `yantra run --stack`.

    Raises ConfigError where no plan is legal or the cluster has no such number of ranks, and
    CapacityError where none fits into the memory of a device.
    """
    machine = cluster if not isinstance(cluster, str) else clusters.load(cluster)
    start = perf_counter()
    if space.most_tp is None:
        members = machine.network[0].members
        space = space.replace(most_tp=None if members is None else int(members.value))
    shared = shared or Shared(model, space.sequence, space.adapters)
    every = space.columns(model)
    on = Machine(machine, space.ranks, dtype=space.dtype, stack=stack)
    form = ClosedForm(model, on, space.sequence, shared.works)
    memory = form.memory(every, space.global_batch)
    if memory.min() > machine.usable_bytes:
        raise _none_fits(model, machine, space, every, memory)
    near = memory <= _NEAR * machine.usable_bytes
    columns = {name: column[near] for name, column in every.items()}
    judged = form.judge(columns, space.global_batch)
    seconds = perf_counter() - start
    fits = judged.memory_bytes <= machine.usable_bytes
    order = _by_kind(columns, judged, fits)
    runner = _Runner(model, machine, space, columns, judged, shared, stack)
    found = runner.all_of(order, top, tell, fits, len(near) <= _SMALL)
    exact = [one for one in found if not one.not_simulated]
    return Answer(
        cluster=machine.name,
        capacity_bytes=machine.memory_bytes,
        reserve_bytes=machine.reserve_bytes,
        legal=len(near),
        judged=len(fits),
        fitting=int(fits.sum()),
        judged_s=seconds,
        simulated=runner.simulated,
        error=max((_error(one) for one in exact), default=None),
        ranked=runner.with_sure(sorted(found, key=lambda one: one.time_ns)[:top]),
        lost=_lost(machine, space, columns, judged, found),
        rates=runner.rates,
        shown=space.shown,
        stack=stack,
    )


class Shared:
    """What searches for one model on several clusters share: works by plan, and steps."""

    def __init__(self, model: Any, sequence: int | None, adapters: Adapters = NO_ADAPTERS) -> None:
        self._model, self._sequence = model, sequence
        self.works = Works(model, sequence or model.sequence, adapters)
        self._steps: dict[Plan, Workload] = {}

    def step(self, plan: Plan) -> Workload:
        """Return the workload of one step; the last ones are kept."""
        if plan not in self._steps:
            while len(self._steps) >= _KEPT:
                del self._steps[next(iter(self._steps))]
            self._steps[plan] = train(self._model, plan, self._sequence)
        return self._steps[plan]


def _error(one: Ranked) -> float:
    return abs(one.closed_ns / one.time_ns - 1)


class _Runner:
    """Simulates rows of a space on a machine."""

    def __init__(
        self,
        model: Any,
        cluster: Cluster,
        space: PlanSpace,
        columns: Columns,
        judged: Judged,
        shared: Shared,
        stack: str,
    ) -> None:
        self.cluster, self.space, self.shared = cluster, space, shared
        self.columns, self.judged = columns, judged
        self.budget = Budget()
        self._kept: dict[Plan, Exact] = {}
        self.simulated = 0
        self.parts = parts_for(cluster, space.ranks, space.dtype, stack)
        self.rates = rates_of(cluster)
        self.tokens = space.global_batch * (space.sequence or model.sequence)

    def all_of(
        self,
        order: np.ndarray,
        top: int,
        tell: Callable[[str], None] | None,
        fits: np.ndarray,
        small: bool,
    ) -> list[Ranked]:
        """Simulate the first `top` rows, and further ones within the band of the best.

        `order` has a row of each kind; of each kind the best comes back.
        """
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
        return _best_of_kinds(found)

    def _nearest(
        self,
        seen: set[int],
        found: list[Ranked],
        fits: np.ndarray,
        small: bool,
        tell: Callable[[str], None] | None,
    ) -> Iterator[Ranked]:
        """Simulate plans of any kind that could be better than the best, the likeliest first."""
        exact = [one for one in found if not one.not_simulated]
        if not exact:
            return
        band = max(_BAND, *(_error(one) for one in exact))
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
        exact = [_error(one) for one in found if not one.not_simulated]
        if found and not exact:
            return True
        band = max(exact, default=1.0)
        best = min((one.time_ns for one in found), default=np.inf)
        return float(self.judged.time_ns[row]) * (1 - band) > best

    def with_sure(self, ranked: list[Ranked]) -> tuple[Ranked, ...]:
        """Return plans with what is known of how sure they are, the fastest first."""
        if self.parts.get("stack") is None:
            return tuple(ranked)
        exacts = [self._kept[one.plan] for one in ranked]
        found = sure_of([one.time_ns for one in ranked], exacts)
        return tuple(one._replace(sure=of) for one, of in zip(ranked, found, strict=True))

    def _scenario(self, plan: Plan) -> Scenario:
        return Scenario(workload=Templates(workload=self.shared.step(plan)), **self.parts)

    def one(self, row: int) -> Ranked | None:
        """Simulate a row; None if its step needs more memory than the closed form has it."""
        plan = self.space.plan(self.columns, row)
        workload = self.shared.step(plan)
        need = max(workload.peaks().values())
        if need > self.cluster.usable_bytes:
            return None
        exact = self.budget.simulate(self._scenario(plan))
        self.simulated += exact.result is not None
        self._kept[plan] = exact
        closed = float(self.judged.time_ns[row])
        time = closed if exact.result is None else exact.result.makespan_ns
        scale = time / closed
        parts = (float(getattr(self.judged, f"{name}_ns")[row]) * scale for name in PARTS)
        seconds, devices = time / 1e9, plan.ranks
        cost = self.rates.cost_usd(seconds, devices)
        busy = float(self.judged.kernels_ns[row]) / closed
        joules = self.rates.energy_j(seconds, devices, busy)
        kernels, communication, bubble, behind = parts
        return Ranked(
            plan=plan,
            time_ns=time,
            closed_ns=closed,
            memory_bytes=need,
            mfu=utilisation(exact.model, about_of(exact.model), time).get("mfu"),
            tokens_per_s=self.tokens / seconds,
            cost_usd=cost,
            usd_per_million_tokens=None if cost is None else cost / self.tokens * 1e6,
            energy_j=joules,
            kwh_per_million_tokens=None if joules is None else kwh(joules) / self.tokens * 1e6,
            parts_ns=(kernels, communication, bubble, behind),
            not_simulated=exact.reason,
        )


def _best_of_kinds(found: list[Ranked]) -> list[Ranked]:
    best: dict[tuple[Any, ...], Ranked] = {}
    for one in sorted(found, key=lambda one: one.time_ns):
        best.setdefault(tuple(getattr(one.plan, name) for name in KIND), one)
    return list(best.values())


def _by_kind(columns: Columns, judged: Judged, fits: np.ndarray) -> np.ndarray:
    """Return the fastest fitting row of each kind, the fastest kind first."""
    rows = np.flatnonzero(fits)
    rows = rows[np.argsort(judged.time_ns[rows], kind="stable")]
    code = np.zeros(len(rows), dtype=np.int64)
    for name in KIND:
        code = code * (int(columns[name].max()) + 1) + columns[name][rows]
    _, first = np.unique(code, return_index=True)
    return rows[np.sort(first)]


def _lost(
    cluster: Cluster, space: PlanSpace, columns: Columns, judged: Judged, found: list[Ranked]
) -> tuple[Lost, ...]:
    """Return the fastest kinds that would beat the best and do not fit."""
    best = min(one.closed_ns for one in found)
    over = (judged.memory_bytes > cluster.usable_bytes) & (judged.time_ns < best)
    if not over.any():
        return ()
    return tuple(
        Lost(
            space.plan(columns, int(row)),
            float(judged.time_ns[row]),
            int(judged.memory_bytes[row] - cluster.usable_bytes),
        )
        for row in _by_kind(columns, judged, over)[:3]
    )


def _none_fits(
    model: Any, cluster: Cluster, space: PlanSpace, columns: Columns, memory: np.ndarray
) -> CapacityError:
    row = int(np.argmin(memory))
    plan = space.plan(columns, row)
    need = format_bytes(int(memory[row]))
    has = room_text(cluster.memory_bytes, cluster.reserve_bytes)
    what = f"tp {plan.tp}, pp {plan.pp}, dp {plan.dp}, zero {plan.zero}, {plan.recompute}"
    return CapacityError(
        "memory",
        f"none of {len(memory)} plans of {model.name} on {space.ranks} ranks of "
        f"{cluster.name} fits; the smallest ({what} recomputation) needs {need} of {has} per "
        "device; use more ranks, or devices with more memory",
    )
