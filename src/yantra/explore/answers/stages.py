"""Moves layers between the devices of a pipeline, which columns split evenly.

The busiest device gives a layer to the least busy, unless that would become as busy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.base.errors import ConfigError
from yantra.explore.answers.plan_words import ENDS
from yantra.explore.answers.refine import Move, changed
from yantra.workloads import schedules
from yantra.workloads.plan.split import Unfit, shares
from yantra.workloads.training.step.layers import layer_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yantra.explore.answers.ranked import Ranked
    from yantra.explore.answers.refine import Attempt, Choices
    from yantra.result import Result
    from yantra.workloads.plan.plan import Plan

    ResultOf = Callable[[Plan], Result | None]

_STARTS, _FAR, _MOVES = 2, 1.02, 8


def balanced(
    starts: Sequence[Ranked], attempt: Attempt, choices: Choices, layers: int, result_of: ResultOf
) -> list[Ranked]:
    """Return plans made faster by moving layers; `starts` are simulated, fastest first."""
    near = [one for one in starts if one.time_ns <= starts[0].time_ns * _FAR and one.plan.pp > 1]
    found = []
    for start in near[:_STARTS]:
        now = start
        for _ in range(_MOVES):
            plan = _moved(now.plan, layers, result_of(now.plan), choices)
            new = None if plan is None else attempt(now, plan, "bubble")
            if new is None or new.time_ns >= now.time_ns:
                break
            now = new
        if now is not start:
            found.append(now)
    return found


def _moved(plan: Plan, layers: int, result: Result | None, choices: Choices) -> Plan | None:
    if result is None:
        return None
    counts, devices = stages_of(plan, layers)
    busy = busy_ns(plan, result)
    own = np.bincount(devices, weights=counts)
    slow, fast = int(np.argmax(busy)), int(np.argmin(busy))
    if own[fast] == 0 or busy[fast] * (1 + 1 / own[fast]) >= busy[slow]:
        return None
    on = [[stage for stage, at in enumerate(devices) if at == device] for device in (slow, fast)]
    new = list(counts)
    new[max(on[0], key=lambda stage: counts[stage])] -= 1
    new[min(on[1], key=lambda stage: counts[stage])] += 1
    changes = {"stage_layers": tuple(new), **dict.fromkeys(ENDS, False)}
    return changed(plan, Move("bubble", changes), choices)


def stages_of(plan: Plan, layers: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    route = schedules.get(plan.schedule).stages(plan.pp, plan.vpp).routes[0]
    devices = tuple(device for device, _ in route)
    given = shares(plan, layers, devices)
    if isinstance(given, Unfit):
        raise ConfigError(given.field, given.reason)
    ends = {"front": plan.embedding_as_layer, "tail": plan.loss_as_layer}
    ranges = layer_ranges(layers, len(devices), **ends, shares=given)
    return tuple(end - first for first, end in ranges), devices


def busy_ns(plan: Plan, result: Result) -> np.ndarray:
    grid = plan.grid()
    axis = grid.axis(grid.view_of(("pp",)), "pp")
    devices = np.arange(plan.ranks) // axis.stride % axis.size
    total = np.bincount(devices, weights=result.ranks["compute_ns"], minlength=plan.pp)
    found: np.ndarray = total * plan.pp / plan.ranks
    return found
