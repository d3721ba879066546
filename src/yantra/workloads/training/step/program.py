"""A device's order of passes -> which variant of each pass it plays.

Passes of one kind and chunk differ only where the plan does something in the first or the last of
them: gathering weights before the first forward pass (ZeRO-1 and 2), reducing gradients in the
last backward pass, and keeping gathered weights while micro-batches are in flight (ZeRO-3 that does
not reshard after the forward pass).
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.schedule import Order, Step
from yantra.workloads.training.step.passes import PassKey


class Play(NamedTuple):
    """One pass of one micro-batch."""

    key: PassKey
    microbatch: int


Action = tuple[Play, ...]
"""One pass, or a forward and a backward pass that overlap."""


def program_of(order: Order, plan: Plan) -> tuple[Action, ...]:
    """Return what a device does, in order."""
    last = {
        step.chunk: (number, step)
        for number, action in enumerate(order)
        for step in action.steps
        if step.kind in "BW"
    }
    seen: set[int] = set()
    in_flight: dict[int, int] = {}
    program = []
    for number, action in enumerate(order):
        plays = []
        for step in action.steps:
            is_last = last.get(step.chunk) == (number, step)
            key = _key(step, plan, step.chunk not in seen, in_flight, is_last)
            plays.append(Play(key, step.microbatch))
            if step.kind == "F":
                seen.add(step.chunk)
        program.append(tuple(plays))
    return tuple(program)


def _key(
    step: Step, plan: Plan, is_first: bool, in_flight: dict[int, int], is_last: bool
) -> PassKey:
    kind, chunk = step.kind, step.chunk
    key = PassKey(kind, chunk, last=is_last)
    if plan.zero == 0 or kind == "W":
        return key
    if plan.zero < 3:
        return key._replace(gathers=kind == "F" and is_first and plan.overlap_parameters)
    if plan.reshard_after_forward:
        return key._replace(gathers=True, reshards=True)
    held = in_flight.get(chunk, 0)
    in_flight[chunk] = held + (1 if kind == "F" else -1)
    return key._replace(
        gathers=kind == "F" and held == 0, reshards=kind != "F" and in_flight[chunk] == 0
    )
