"""One trial: all plans of a model on a cluster at a size and scale.

The best that fits stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import isclose
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError, ConfigError, YantraError
from yantra.base.text import format_bytes, room_text
from yantra.explore.closed_form.closed_form import ClosedForm, Judged
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import reserved_on
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.explore.study.goodput import best_goodput, mtti_of
from yantra.explore.study.objectives import Facts, computed, unstated
from yantra.explore.study.study_file import Point, Study
from yantra.fabric import clusters, failures
from yantra.fabric.clusters.ownership import rates_of, usd_per_h
from yantra.fabric.clusters.parts import around_of
from yantra.fabric.clusters.types import Cluster
from yantra.workloads.models.catalogue import find

_EXACT = 1e-9  # relative difference allowed between dependent figures


class Plans(NamedTuple):
    """The plans of a space on a cluster at a scale, judged by closed form."""

    study: Study
    model: Any
    cluster: Cluster
    scale: Scale
    space: PlanSpace
    columns: Columns
    judged: Judged
    machine: Machine
    works: Works

    def at(self, scale: Scale) -> Plans:
        machine = Machine(
            self.cluster, self.space.ranks, scale, like=self.machine, dtype=self.space.dtype,
            stack=self.machine.stack,
        )  # fmt: skip
        form = ClosedForm(self.model, machine, self.space.sequence, self.works)
        judged = form.judge(self.columns, self.space.global_batch)
        return self._replace(scale=scale, judged=judged)

    def best(self) -> int:
        fits = np.flatnonzero(self.judged.memory_bytes <= self.cluster.usable_bytes)
        if not len(fits):
            has = room_text(self.cluster.memory_bytes, self.cluster.reserve_bytes)
            over = self.judged.memory_bytes.min() - self.cluster.usable_bytes
            problem = f"every plan needs at least {format_bytes(int(over))} more than {has}"
            raise CapacityError("memory", problem)
        return int(fits[np.argmin(self.judged.time_ns[fits])])


def space_of(study: Study, number: int) -> tuple[Any, Cluster, Scale, PlanSpace]:
    name, ranks, factors, _ = study.trials()[number]
    cluster = _cluster(name)
    members = cluster.network[0].members
    chosen: dict[str, Any] = dict(study.plan)
    space = PlanSpace(
        ranks=ranks,
        global_batch=study.global_batch,
        sequence=study.sequence,
        most_tp=None if members is None else int(members.value),
        dtype=study.dtype,
        **chosen,
    )
    return _model(study.model), cluster, _scale(factors), space


def _scale(factors: Mapping[str, float]) -> Scale:
    scale = Scale()
    for rate, factor in factors.items():
        scale = scale.times(rate, factor)
    return scale


# Shared by a process's trials; independent of scale.
_cluster = lru_cache(maxsize=64)(clusters.load)
_model = lru_cache(maxsize=8)(find)


@lru_cache(maxsize=8)
def _mtbf_s(rates: str) -> float:
    return failures.load(rates).device_mtbf_s


@lru_cache(maxsize=8)
def _works(name: str, sequence: int) -> Works:
    return Works(_model(name), sequence)


@lru_cache(maxsize=64)
def _machine(name: str, ranks: int, dtype: Any, stack: str) -> Machine:
    return Machine(_cluster(name), ranks, dtype=dtype, stack=stack)


@lru_cache(maxsize=32)
def _columns(name: str, space: PlanSpace) -> Columns:
    return space.columns(_model(name))


def plans_of(study: Study, number: int, **chosen: Any) -> Plans:
    """Judge a trial's plans; `chosen` replaces fields of its space.

    Raises ConfigError if none is legal.
    """
    model, cluster, scale, space = space_of(study, number)
    space = space.replace(**chosen)
    columns = _columns(study.model, space)
    name, _, _, stack = study.trials()[number]
    cluster = reserved_on(cluster, stack, columns)
    like = _machine(name, space.ranks, space.dtype, stack)
    machine = Machine(cluster, space.ranks, scale, like=like, dtype=space.dtype, stack=stack)
    works = _works(study.model, space.sequence or model.sequence)
    form = ClosedForm(model, machine, space.sequence, works)
    judged = form.judge(columns, space.global_batch)
    return Plans(study, model, cluster, scale, space, columns, judged, machine, works)


def trial(study: Study, number: int) -> dict[str, Any]:
    """Judge a trial; `broken` are the reasons it is not feasible, with margins.

    `excess` sums the relative excess over bounds, None without a plan.
    """
    name, ranks, factors, stack = study.trials()[number]
    told: dict[str, Any] = {"cluster": name, "ranks": ranks, "scale": factors, "broken": []}
    if len(study.stacks) > 1:
        told["stack"] = stack
    try:
        plans = plans_of(study, number)
        told |= figures(plans, plans.best())
    except YantraError as error:
        return told | {"broken": [str(error).splitlines()[0]], "excess": None}
    broken = list(broken_bounds(study, name, told))
    return told | {"broken": broken, "excess": excess(study, told)}


def judge_point(given: tuple[Study, Point]) -> dict[str, Any]:
    study, point = given
    return trial(study._replace(points=(point,)), 0)


def hourly_of(study: Study, cluster: Cluster, scale: Scale) -> float | None:
    """Return a device's USD an hour: the study's price, else the cluster's,

    with upgrades. Raises ConfigError if slower rates leave no price.
    """
    hourly = dict(study.prices).get(cluster.name, usd_per_h(cluster))
    if hourly is None:
        return None
    for rate, usd in study.upgrades:
        hourly += usd * (scale.of(rate) - 1.0)
    if hourly <= 0:
        raise ConfigError("upgrades", f"leave a price of {hourly:.4g} USD/h; it has to be above 0")
    return hourly


def figures(plans: Plans, row: int) -> dict[str, Any]:
    plan = {name: int(plans.columns[name][row]) for name in plans.space.shown}
    return {"plan": plan, **computed(_facts(plans, row))}


def _facts(plans: Plans, row: int) -> Facts:
    judged, ranks = plans.judged, plans.space.ranks
    seconds = float(judged.time_ns[row]) / 1e9
    joules = rates_of(plans.cluster).energy_j(seconds, ranks, float(judged.kernel_j[row]))
    memory = int(judged.memory_bytes[row])
    return _facts_of(plans.study, plans.cluster, plans.scale, ranks, seconds, memory, joules)


def _facts_of(
    study: Study,
    cluster: Cluster,
    scale: Scale,
    ranks: int,
    seconds: float,
    memory_bytes: int,
    joules: float | None,
) -> Facts:
    hourly, rates = hourly_of(study, cluster, scale), rates_of(cluster)
    best, mtbf_s = None, _mtbf_s(study.rates) if study.rates else rates.mtbf_s
    if mtbf_s is not None:
        mtti = mtti_of({"devices": (ranks, mtbf_s)})
        best = best_goodput(mtti, *study.failures)
    return Facts(
        seconds=seconds,
        tokens=_tokens(study),
        ranks=ranks,
        memory_bytes=memory_bytes,
        device_bytes=cluster.usable_bytes,
        usd_per_h=None if hourly is None else hourly * ranks,
        joules=joules,
        goodput=None if best is None else best.share,
        steps=study.steps,
        at_work=None if best is None else best.at_work,
        idle_w=rates.energy_j(1.0, ranks),
        around_w=sum(filter(None, around_of(cluster, ranks).values())) * ranks * rates.pue,
        grid_g_per_kwh=grid.value if (grid := dict(cluster.ownership).get("grid")) else None,
    )


def _tokens(study: Study) -> int:
    sequence: int = study.sequence or _model(study.model).sequence
    return study.global_batch * sequence


def agree(study: Study, told: Mapping[str, Any]) -> bool:
    """Return whether a trial's figures are consistent, and its plan fits its ranks.

    Given time, memory and energy, this finds one altered figure, not several altered together;
    older lines lack newer figures.
    """
    cluster, ranks, plan = _cluster(told["cluster"]), told["ranks"], told["plan"]
    per_token = told["joules_per_token"]
    joules = None if per_token is None else per_token * _tokens(study)
    scale = _scale(told["scale"])
    facts = _facts_of(study, cluster, scale, ranks, told["step_time"], told["memory"], joules)
    if plan["tp"] * plan["cp"] * plan["pp"] * plan["dp"] != ranks:
        return False
    found = computed(facts).items()
    return all(name not in told or _alike(told[name], value) for name, value in found)


def _alike(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=_EXACT)


def excess(study: Study, told: Mapping[str, Any]) -> float | None:
    """Return the summed relative excess over bounds; None if one is unknown."""
    found = 0.0
    for bounds, side in ((study.at_most, 1.0), (study.at_least, -1.0)):
        for name, bound in bounds:
            if told.get(name) is None:
                return None
            found += max(side * (told[name] / bound - 1.0), 0.0)
    return found


def broken_bounds(study: Study, cluster: str, told: Mapping[str, Any]) -> Iterator[str]:
    for objective in study.objectives:
        if told.get(objective) is None:
            yield unstated(objective, cluster)
    for bounds, side, word, by in (
        (study.at_most, 1.0, "most", "too much"),
        (study.at_least, -1.0, "least", "too little"),
    ):
        for name, bound in bounds:
            value = told.get(name)
            if value is None:
                yield f"{name}: is not known; at {word} {bound:g}"
            elif side * (value - bound) > 0:
                yield f"{name}: {value:.6g} is {abs(value - bound):.6g} {by}; at {word} {bound:g}"
