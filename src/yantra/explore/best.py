"""The best plans of a model on a cluster: all judged by closed forms, the best simulated exactly.

A kind of plan is its split, micro-batch and recomputation. Of each kind the best member stands for
the others, so the answer shows plans that differ in kind. The fastest kinds are simulated; the
largest error of the closed form among them is a band, and kinds whose closed form is within the
band of the best are simulated, too, twelve in all.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError
from yantra.base.text import format_bytes
from yantra.explore.causes import PARTS
from yantra.explore.closed_form import ClosedForm, Judged
from yantra.explore.machine import Machine
from yantra.explore.space import Columns, Space
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import Rates, rates_of
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.training.train import train

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.fabric.clusters.types import Cluster
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.templates import Workload

KIND = ("tp", "cp", "ep", "pp", "micro_batch", "recompute")
_MOST = 12


class Ranked(NamedTuple):
    """One simulated plan: times in ns, of the step and by the closed form, and what follows.

    `parts_ns` is the closed form's time in the parts of `Judged`, scaled to the simulated time, so
    that differences of two plans by cause add up to the difference of their times.
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
    parts_ns: tuple[float, float, float, float]


class Lost(NamedTuple):
    """A plan that would be faster but does not fit: time by closed form in ns, bytes it lacks."""

    plan: Plan
    closed_ns: float
    lacks_bytes: int


class Answer(NamedTuple):
    """What a search on one cluster found; `error` is the closed form's largest on `ranked`."""

    cluster: str
    capacity_bytes: int
    legal: int
    fitting: int
    judged_s: float
    simulated: int
    error: float
    ranked: tuple[Ranked, ...]
    lost: tuple[Lost, ...]
    rates: Rates


def best_plans(
    model: Any,
    cluster: Cluster | str,
    space: Space,
    *,
    top: int = 5,
    tell: Callable[[str], None] | None = None,
) -> Answer:
    """Return the best plans of a space on a cluster, the fastest first.

    Raises ConfigError where no plan is legal or the cluster has no such number of ranks, and
    CapacityError where none fits into the memory of a device.
    """
    machine = cluster if not isinstance(cluster, str) else clusters.load(cluster)
    start = perf_counter()
    if space.most_tp is None:
        members = machine.network[0].members
        space = space.replace(most_tp=None if members is None else int(members.value))
    columns = space.columns(model)
    form = ClosedForm(model, Machine(machine, space.ranks), space.sequence)
    judged = form.judge(columns, space.global_batch)
    seconds = perf_counter() - start
    fits = judged.memory_bytes <= machine.memory_bytes
    if not fits.any():
        raise _none_fits(model, machine, space, columns, judged)
    order = _by_kind(columns, judged, fits)
    runner = _Runner(model, machine, space, columns, judged)
    found = runner.all_of(order, top, tell)
    error = max(abs(one.closed_ns / one.time_ns - 1) for one in found)
    return Answer(
        cluster=machine.name,
        capacity_bytes=machine.memory_bytes,
        legal=len(fits),
        fitting=int(fits.sum()),
        judged_s=seconds,
        simulated=len(found),
        error=error,
        ranked=tuple(sorted(found, key=lambda one: one.time_ns))[:top],
        lost=_lost(machine, space, columns, judged, found),
        rates=runner.rates,
    )


class _Runner:
    """Simulates rows of a space on a machine."""

    def __init__(
        self, model: Any, cluster: Cluster, space: Space, columns: Columns, judged: Judged
    ) -> None:
        self.model, self.cluster, self.space = model, cluster, space
        self.columns, self.judged = columns, judged
        self.parts = cluster_parts(cluster, space.ranks)
        self.rates = rates_of(cluster)
        self.tokens = space.global_batch * (space.sequence or model.sequence)

    def all_of(
        self, order: np.ndarray, top: int, tell: Callable[[str], None] | None
    ) -> list[Ranked]:
        """Simulate the first `top` rows, and further ones within the band of the best."""
        found: list[Ranked] = []
        for number, row in enumerate(order):
            if number >= top and self._is_beyond(int(row), found):
                break
            if number >= max(_MOST, top):
                break
            if tell is not None:
                tell(f"{self.cluster.name}: simulating plan {number + 1}")
            one = self.one(int(row))
            if one is not None:
                found.append(one)
        if not found:
            raise CapacityError("memory", "none of the best plans fits once its step is made")
        return found

    def _is_beyond(self, row: int, found: list[Ranked]) -> bool:
        band = max((abs(one.closed_ns / one.time_ns - 1) for one in found), default=1.0)
        best = min((one.time_ns for one in found), default=np.inf)
        return float(self.judged.time_ns[row]) * (1 - band) > best

    def one(self, row: int) -> Ranked | None:
        """Simulate a row; None if its step needs more memory than the closed form has it."""
        plan = self.space.plan(self.columns, row)
        workload: Workload = train(self.model, plan, self.space.sequence)
        need = max(workload.peaks().values())
        if need > self.cluster.memory_bytes:
            return None
        result = simulate(Scenario(workload=Templates(workload=workload), **self.parts))
        time, closed = result.makespan_ns, float(self.judged.time_ns[row])
        scale = time / closed
        parts = (float(getattr(self.judged, f"{name}_ns")[row]) * scale for name in PARTS)
        seconds, devices = time / 1e9, plan.ranks
        cost = self.rates.cost_usd(seconds, devices)
        busy = float(self.judged.kernels_ns[row]) / closed
        kernels, communication, bubble, behind = parts
        return Ranked(
            plan=plan,
            time_ns=time,
            closed_ns=closed,
            memory_bytes=need,
            mfu=result.figures.mfu,
            tokens_per_s=self.tokens / seconds,
            cost_usd=cost,
            usd_per_million_tokens=None if cost is None else cost / self.tokens * 1e6,
            energy_j=self.rates.energy_j(seconds, devices, busy),
            parts_ns=(kernels, communication, bubble, behind),
        )


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
    cluster: Cluster, space: Space, columns: Columns, judged: Judged, found: list[Ranked]
) -> tuple[Lost, ...]:
    """Return the fastest kinds that would beat the best and do not fit."""
    best = min(one.closed_ns for one in found)
    over = (judged.memory_bytes > cluster.memory_bytes) & (judged.time_ns < best)
    if not over.any():
        return ()
    return tuple(
        Lost(
            space.plan(columns, int(row)),
            float(judged.time_ns[row]),
            int(judged.memory_bytes[row] - cluster.memory_bytes),
        )
        for row in _by_kind(columns, judged, over)[:3]
    )


def _none_fits(
    model: Any, cluster: Cluster, space: Space, columns: Columns, judged: Judged
) -> CapacityError:
    row = int(np.argmin(judged.memory_bytes))
    plan = space.plan(columns, row)
    need = format_bytes(int(judged.memory_bytes[row]))
    has = format_bytes(cluster.memory_bytes)
    what = f"tp {plan.tp}, pp {plan.pp}, dp {plan.dp}, zero {plan.zero}, {plan.recompute}"
    return CapacityError(
        "memory",
        f"none of {len(judged.memory_bytes)} plans of {model.name} on {space.ranks} ranks of "
        f"{cluster.name} fits; the smallest ({what} recomputation) needs {need} of {has} per "
        "device; use more ranks, or devices with more memory",
    )
