"""How wide the value of a trial is: the interval of its estimate, and the closed form's error.

The interval is `Result.interval` of the trial's plan, simulated on its cluster at its scale under a
stack; without one it is that of a framework of which nothing is known. Only trials that could be
the best are simulated, the others have what the stack states for plans like theirs.

Trade-off: a study's values are without the factors of a stack; only its interval is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import expm1, hypot, log, log1p
from typing import NamedTuple

from yantra.base.normal import WITHIN_90
from yantra.compute.products import RATE_TYPES
from yantra.explore.closed_form.exact import Budget
from yantra.explore.study.point import scenario_of
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study
from yantra.fabric import stacks
from yantra.fabric.clusters import load
from yantra.scenario.layout import STACK
from yantra.scenario.types import Stack

CLOSED_FORM = 0.035
"""Nine tenths of plans are within this of their simulation; `benchmarks.closed_form_error`."""
NO_STACK = "unknown"
_MOST = 12
_REACH = 3.0


class Width(NamedTuple):
    """Standard deviations of the logarithm of a value: its own, and that of its cluster."""

    own: float
    of_cluster: float = 0.0
    cluster: str = ""

    @property
    def within(self) -> float:
        """The half-width of the 90 % interval, as a share."""
        return expm1(WITHIN_90 * hypot(self.own, self.of_cluster))

    def apart(self, other: Width) -> float:
        """Return the standard deviation of the difference of two."""
        of_clusters = hypot(self.of_cluster, other.of_cluster)
        if self.cluster == other.cluster:
            of_clusters = abs(self.of_cluster - other.of_cluster)
        return hypot(self.own, other.own, of_clusters)


def deviation_of(within: float) -> float:
    """Return the standard deviation of the logarithm for the half-width of a 90 % interval."""
    return log1p(within) / WITHIN_90


def widths_of(
    study: Study, finished: Finished, values: Mapping[int, float], stack: str
) -> dict[int, Width]:
    """Return the widths of trials; `values` are theirs in the first objective, less is better."""
    own = deviation_of(CLOSED_FORM)
    found = {}
    for number in values:
        trial = finished.trials[number]
        plan = trial["plan"]
        stated = _stack(stack, trial["cluster"], study.dtype).interval_of(
            plan["tp"], plan["micro_batch"]
        )
        found[number] = Width(own, stated / WITHIN_90, trial["cluster"])
    best = min(values, key=values.__getitem__)
    near = [
        number
        for number in sorted(values, key=values.__getitem__)
        if log(values[number] / values[best]) <= _REACH * found[number].apart(found[best])
    ]
    if len({finished.trials[number]["cluster"] for number in near}) == 1:
        return found  # of one cluster: what they share changes nothing
    budget = Budget()
    for number in near[:_MOST]:
        cluster = finished.trials[number]["cluster"]
        scenario = scenario_of(study, finished, number)
        result = budget.simulate(scenario.replace(stack=_stack(stack, cluster, study.dtype))).result
        interval = None if result is None else result.interval
        if interval is not None:
            deviation = log(interval.high / interval.low) / (2.0 * WITHIN_90)
            found[number] = Width(own, deviation, cluster)
    return found


@lru_cache(maxsize=64)
def _stack(name: str, cluster: str, dtype: str) -> Stack:
    part = stacks.load(name, where="--stack").scenario_part(
        load(cluster).name, RATE_TYPES.get(dtype, dtype)
    )
    found: Stack = STACK.read(part, "stack", "")
    return found
