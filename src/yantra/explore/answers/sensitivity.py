"""What a faster part of a cluster would give: elasticities of one plan, and with others allowed.

The elasticity of a rate x is d ln T / d ln x. For a fixed plan it is between -1 and 0, and those of
all rates sum to -1, since a step whose every rate doubles takes half as long (Euler's theorem).
Launches, latencies and hand-overs are one rate here, `latency`.

The slope of a plan says what a little of x gives. With 5 % more or less another plan may win, so
the best time is found again on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import CapacityError
from yantra.base.text import table
from yantra.explore.closed_form.closed_form import ClosedForm, Judged
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.fabric.clusters.types import Cluster
from yantra.fabric.stacks.choice import DEFAULT

_STEP = 1e-4
_CHANGE = 0.05


class Sensitivity(NamedTuple):
    """Of one rate: the elasticity of the best plan; of the best time with 5 % more and 5 % less.

    `other_above` and `other_below` say whether another plan wins there.
    """

    rate: str
    elasticity: float
    above: float
    below: float
    other_above: bool
    other_below: bool


def sensitivities(
    model: Any,
    cluster: Cluster,
    space: PlanSpace,
    row: int | None = None,
    stack: str = DEFAULT,
) -> tuple[Sensitivity, ...]:
    """Return the sensitivity to each rate, by the closed form, around a row or else the best.

    What was measured of a `stack` changes with rates by the law of `Machine`.

    Raises ConfigError where the space has no legal plan, CapacityError where none fits.
    """
    columns = space.columns(model)
    machine = Machine(cluster, space.ranks, dtype=space.dtype, stack=stack)
    works = Works(model, space.sequence or model.sequence, space.adapters)

    def judge(scale: Scale, of: Columns) -> Judged:
        scaled = Machine(
            cluster, space.ranks, scale, like=machine, tuned=machine, dtype=space.dtype, stack=stack
        )
        form = ClosedForm(model, scaled, space.sequence, works)
        return form.judge(of, space.global_batch)

    def times(scale: Scale, of: Columns) -> np.ndarray:
        return judge(scale, of).time_ns

    judged = judge(Scale(), columns)
    every = judged.time_ns
    allowed = np.flatnonzero(judged.memory_bytes <= cluster.usable_bytes)
    if not len(allowed):
        raise CapacityError("memory", f"no plan fits into the memory of {cluster.name}")
    best = int(allowed[np.argmin(every[allowed])]) if row is None else row
    alone = {name: of[best : best + 1] for name, of in columns.items()}
    found = []
    for name in machine.rates:
        up, down = (
            float(times(Scale().times(name, factor), alone)[0]) for factor in (1 + _STEP, 1 - _STEP)
        )
        slope = log(up / down) / log((1 + _STEP) / (1 - _STEP))
        sides = []
        for factor in (1 + _CHANGE, 1 - _CHANGE):
            again = times(Scale().times(name, factor), columns)
            winner = int(allowed[np.argmin(again[allowed])])
            change = log(again[winner] / every[best]) / log(factor)
            sides.append((change, bool(again[winner] < again[best] * (1 - 1e-9))))
        (above, other_above), (below, other_below) = sides
        found.append(Sensitivity(name, slope, above, below, other_above, other_below))
    return tuple(found)


def words(found: Sequence[Sensitivity]) -> list[str]:
    """Return the sensitivities as lines of a table."""
    head = ("rate", "elasticity", "with 5 % more", "with 5 % less")
    rows = [
        (
            one.rate,
            f"{one.elasticity:.3f}",
            f"{one.above:.3f}{', another plan' if one.other_above else ''}",
            f"{one.below:.3f}{', another plan' if one.other_below else ''}",
        )
        for one in found
    ]
    return table(head, rows)
