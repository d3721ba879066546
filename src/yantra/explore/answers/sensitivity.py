"""What a faster part of a cluster gives: elasticities, for one plan and with others allowed.

The elasticity of a rate x is d ln T / d ln x. For a fixed plan each is between -1 and 0 and all sum
to -1 (Euler's theorem): twice every rate halves the step. Launches, latencies and hand-overs are
one rate, `latency`.

The slope is that of a small change of one plan.
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
from yantra.explore.closed_form.on_stack import reserved_on
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.fabric.clusters.types import Cluster
from yantra.fabric.stacks.choice import DEFAULT

_STEP = 1e-4
_CHANGE = 0.05


class Sensitivity(NamedTuple):
    """A rate's elasticity for the best plan, and for the best time at 5 % more and 5 % less.

    `other_above`, `other_below`: another plan wins there.
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
    """Return the sensitivity to each rate by closed form, around a row or the best.

    A `stack`'s measurements scale by the law of `Machine`.

    Raises ConfigError if no plan is legal, CapacityError if none fits.
    """
    columns = space.columns(model)
    cluster = reserved_on(cluster, stack, columns)
    machine = Machine(cluster, space.ranks, dtype=space.dtype, stack=stack)
    works = Works(model, space.sequence or model.sequence, space.held)

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
