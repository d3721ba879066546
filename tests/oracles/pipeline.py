"""A slow oracle of pipeline executions: start times raised until no rule is broken. The passes of
one device follow each other in its order; F of stage s needs F of stage s - 1; a backward pass
needs F of its own stage and the backward pass of stage s + 1; W needs b of its own stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from yantra.workloads.schedules.schedule import Orders, Pair
from yantra.workloads.schedules.stages import Stages


class Times(NamedTuple):
    F: Fraction
    b: Fraction
    W: Fraction
    overlapped: Fraction
    latency: Fraction


def makespan(orders: Orders, stages: Stages, times: Times) -> Fraction:
    lasts = {"F": times.F, "B": times.b + times.W, "b": times.b, "W": times.W}
    begins: list[list[Fraction]] = [[Fraction(0)] * len(order) for order in orders]
    made = {
        (
            kind,
            stages.route(device, step.chunk),
            stages.stage(device, step.chunk),
            step.microbatch,
        ): (
            device,
            position,
        )
        for device, order in enumerate(orders)
        for position, action in enumerate(order)
        for step in action.steps
        for kind in ("bW" if step.kind == "B" else step.kind)
    }

    def end(device: int, position: int) -> Fraction:
        action = orders[device][position]
        last = times.overlapped if isinstance(action, Pair) else lasts[action.kind]
        return begins[device][position] + last

    rules: list[tuple[tuple[int, int], tuple[int, int], Fraction]] = []
    for device, order in enumerate(orders):
        for position, action in enumerate(order):
            after = (device, position)
            if position:
                rules.append(((device, position - 1), after, Fraction(0)))
            for step in action.steps:
                route, stage = stages.route(device, step.chunk), stages.stage(device, step.chunk)
                for need in _needs(step.kind, route, stage, step.microbatch):
                    if need in made:
                        before = made[need]
                        rules.append(
                            (before, after, times.latency if before[0] != device else Fraction(0))
                        )
    moved = True
    while moved:
        moved = False
        for before, (device, position), latency in rules:
            earliest = end(*before) + latency
            if begins[device][position] < earliest:
                begins[device][position] = earliest
                moved = True
    return max(end(device, len(order) - 1) for device, order in enumerate(orders))


def _needs(
    kind: str, route: int, stage: int, microbatch: int
) -> Sequence[tuple[str, int, int, int]]:
    if kind == "F":
        return [("F", route, stage - 1, microbatch)]
    if kind == "W":
        return [("b", route, stage, microbatch)]
    return [("F", route, stage, microbatch), ("b", route, stage + 1, microbatch)]
