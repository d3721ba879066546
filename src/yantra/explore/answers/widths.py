"""How wide a trial's value is: its interval, and the closed form's error.

The interval is `Result.interval` of the trial's plan on its stack, at speeds alone that of an
unknown framework. A cluster with its stack shares an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import expm1, hypot, log, log1p
from typing import Any, NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.base.normal import WITHIN_90
from yantra.explore.closed_form.exact import Budget
from yantra.explore.closed_form.on_stack import terms_of
from yantra.explore.study.point import scenario_of
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study
from yantra.fabric.clusters import load
from yantra.fabric.clusters.find import like
from yantra.fabric.stacks.choice import UNKNOWN, WITHOUT_TERMS
from yantra.scenario.types import Stack

CLOSED_FORM = 0.035
"""Nine tenths of plans are within this of their simulation; `benchmarks.closed_form_error`."""
_MOST = 12
_REACH = 3.0


class Width(NamedTuple):
    """Standard deviations of a value's logarithm: its own, and its cluster's.

    `cluster` names the cluster and stack that share it.
    """

    own: float
    of_cluster: float = 0.0
    cluster: str = ""

    @property
    def within(self) -> float:
        return expm1(WITHIN_90 * hypot(self.own, self.of_cluster))

    def apart(self, other: Width) -> float:
        of_clusters = hypot(self.of_cluster, other.of_cluster)
        if self.cluster == other.cluster:
            of_clusters = abs(self.of_cluster - other.of_cluster)
        return hypot(self.own, other.own, of_clusters)


def deviation_of(within: float) -> float:
    """Return the standard deviation for the half-width of a 90 % interval."""
    return log1p(within) / WITHIN_90


def widths_of(
    study: Study, finished: Finished, values: Mapping[int, float], stack: str | None
) -> dict[int, Width]:
    """Return the widths of trials; less of `values` is better.

    `stack` replaces each trial's own.
    """
    own = deviation_of(CLOSED_FORM)
    found = {}
    for number in values:
        trial = finished.trials[number]
        plan = trial["plan"]
        of, shared = _of(study, trial, stack)
        stated = of.interval_of(plan["tp"], plan["micro_batch"])
        found[number] = Width(own, stated / WITHIN_90, shared)
    best = min(values, key=values.__getitem__)
    near = [
        number
        for number in sorted(values, key=values.__getitem__)
        if log(values[number] / values[best]) <= _REACH * found[number].apart(found[best])
    ]
    if len({found[number].cluster for number in near}) == 1:
        return found  # within one cluster the shared error changes nothing
    budget = Budget()
    for number in near[:_MOST]:
        own_stack = _stack_of(study, finished.trials[number])
        if own_stack in WITHOUT_TERMS or stack not in (None, own_stack):
            continue  # its run has no interval
        of, shared = _of(study, finished.trials[number], stack)
        try:
            scenario = scenario_of(study, finished, number)
        except UnsupportedError:
            continue  # no run takes measured times at other rates
        result = budget.simulate(scenario.replace(stack=of)).result
        interval = None if result is None else result.interval
        if interval is not None:
            deviation = log(interval.high / interval.low) / (2.0 * WITHIN_90)
            found[number] = Width(own, deviation, shared)
    return found


def _of(study: Study, trial: Mapping[str, Any], stack: str | None) -> tuple[Stack, str]:
    name = stack or _stack_of(study, trial)
    if name in WITHOUT_TERMS:
        name = UNKNOWN
    cluster = like(load(trial["cluster"]))
    return terms_of(name, cluster, study.dtype), f"{cluster} {name}"


def _stack_of(study: Study, trial: Mapping[str, Any]) -> str:
    return str(trial.get("stack", study.stacks[0]))
