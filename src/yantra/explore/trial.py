"""One trial of a study: all plans of a model on a cluster of some size at some scale of its rates.

The best of the plans that fit stands for the trial. What a study can ask of a plan is counted here,
for the best as for any other, so an answer to "why not" has the numbers of the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, YantraError
from yantra.explore.closed_form import ClosedForm, Judged
from yantra.explore.goodput import best_goodput, mtti_of
from yantra.explore.machine import Machine, Scale
from yantra.explore.passes import Works
from yantra.explore.space import Columns, Space
from yantra.explore.study_file import Study
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import rates_of
from yantra.fabric.clusters.types import Cluster
from yantra.workloads.models.catalogue import find


class Plans(NamedTuple):
    """The plans of a space on a cluster at a scale, and what the closed form says of each."""

    study: Study
    model: Any
    cluster: Cluster
    scale: Scale
    space: Space
    columns: Columns
    judged: Judged
    machine: Machine
    works: Works

    def at(self, scale: Scale) -> Plans:
        """Return the same plans at another scale; only groups on other links are measured."""
        machine = Machine(self.cluster, self.space.ranks, scale, like=self.machine)
        form = ClosedForm(self.model, machine, self.space.sequence, self.works)
        judged = form.judge(self.columns, self.space.global_batch)
        return self._replace(scale=scale, judged=judged)

    def best(self) -> int:
        """Return the row of the fastest plan that fits. Raises ConfigError where none does."""
        fits = np.flatnonzero(self.judged.memory_bytes <= self.cluster.memory_bytes)
        if not len(fits):
            lacks = int(self.judged.memory_bytes.min() - self.cluster.memory_bytes)
            raise ConfigError("memory", f"every plan needs {lacks} bytes more than a device has")
        return int(fits[np.argmin(self.judged.time_ns[fits])])


def space_of(study: Study, number: int) -> tuple[Any, Cluster, Scale, Space]:
    """Return the model, the cluster, the scale and the space of a trial."""
    name, ranks, factors = study.trials()[number]
    cluster = clusters.load(name)
    members = cluster.network[0].members
    space = Space(
        ranks=ranks,
        global_batch=study.global_batch,
        sequence=study.sequence,
        most_tp=None if members is None else int(members.value),
    )
    scale: dict[str, Any] = dict(factors)
    return find(study.model), cluster, Scale(**scale), space


def plans_of(study: Study, number: int, **chosen: Any) -> Plans:
    """Judge the plans of a trial; `chosen` replaces fields of its space.

    Raises ConfigError where no plan is legal.
    """
    model, cluster, scale, space = space_of(study, number)
    space = space.replace(**chosen)
    columns = space.columns(model)
    machine = Machine(cluster, space.ranks, scale)
    works = Works(model, space.sequence or model.sequence)
    form = ClosedForm(model, machine, space.sequence, works)
    judged = form.judge(columns, space.global_batch)
    return Plans(study, model, cluster, scale, space, columns, judged, machine, works)


def trial(study: Study, number: int) -> dict[str, Any]:
    """Judge one trial; `broken` has every reason why it is not feasible, with its margin."""
    name, ranks, factors = study.trials()[number]
    told: dict[str, Any] = {"cluster": name, "ranks": ranks, "scale": factors, "broken": []}
    try:
        plans = plans_of(study, number)
        told |= figures(plans, plans.best())
    except YantraError as error:
        return told | {"broken": [str(error).splitlines()[0]]}
    return told | {"broken": list(broken_bounds(study, name, told))}


def hourly_of(study: Study, cluster: Cluster) -> float | None:
    """Return what a device costs in USD an hour: the study's price, or else the cluster's."""
    return dict(study.prices).get(cluster.name, rates_of(cluster).usd_per_h)


def figures(plans: Plans, row: int) -> dict[str, Any]:
    """Return a plan and every objective of it; None for what the cluster does not state."""
    study, judged, ranks = plans.study, plans.judged, plans.space.ranks
    seconds = float(judged.time_ns[row]) / 1e9
    rates, hourly = rates_of(plans.cluster), hourly_of(study, plans.cluster)
    tokens = study.global_batch * (study.sequence or plans.model.sequence)
    busy = float(judged.kernels_ns[row] / judged.time_ns[row])
    joules = rates.energy_j(seconds, ranks, busy)
    found: dict[str, Any] = {
        "plan": {name: int(of[row]) for name, of in plans.columns.items()},
        "step_time": seconds,
        "memory": int(judged.memory_bytes[row]),
        "usd_per_million_tokens": None,
        "joules_per_token": None if joules is None else joules / tokens,
        "time_to_train": None,
        "ranks": ranks,
    }
    if hourly is not None:
        found["usd_per_million_tokens"] = hourly * ranks * seconds / 3600 / tokens * 1e6
    if study.steps is not None and rates.mtbf_s is not None:
        mtti = mtti_of({"devices": (ranks, rates.mtbf_s)})
        found["time_to_train"] = study.steps * seconds / best_goodput(mtti, *study.failures).share
    return found


def broken_bounds(study: Study, name: str, told: Mapping[str, Any]) -> Iterator[str]:
    """Yield every objective that is not known and every bound that is broken, with its margin."""
    for objective in study.objectives:
        if told.get(objective) is None:
            yield f"{objective}: {name} does not state what it takes"
    for objective, bound in study.at_most:
        value = told.get(objective)
        if value is None or value > bound:
            by = "is not known" if value is None else f"{value:.6g} is {value - bound:.6g} too much"
            yield f"{objective}: {by}; at most {bound:g}"
