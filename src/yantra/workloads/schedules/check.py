"""Proves that an order is a schedule: every pass occurs once, and nothing waits for itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from yantra.workloads.schedules.execution import (
    Costs,
    Result,
    Waiting,
    attempt,
    describe,
    needs,
    results,
)
from yantra.workloads.schedules.schedule import Action, Order, Orders, Pair
from yantra.workloads.schedules.stages import Stages

_KINDS = ("F", "B", "b", "W")


class Violation(NamedTuple):
    device: int
    position: int | None
    problem: str

    def __str__(self) -> str:
        at = "" if self.position is None else f", operation {self.position}"
        return f"device {self.device}{at}: {self.problem}"


def find_violation(orders: Orders, stages: Stages, m: int) -> Violation | None:
    if len(orders) != stages.devices:
        return Violation(
            len(orders), None, f"expected the orders of {stages.devices} devices, got {len(orders)}"
        )
    for device, order in enumerate(orders):
        wrong = next(_mistakes(device, order, stages, m), None)
        if wrong:
            return wrong
    stuck = attempt(orders, stages, Costs())[1]
    return _circle(orders, stages, stuck) if stuck else None


def _mistakes(device: int, order: Order, stages: Stages, m: int) -> Iterator[Violation]:
    made: dict[Result, int] = {}
    for position, action in enumerate(order):
        problem = _impossible(device, action, stages, m)
        if problem:
            yield Violation(device, position, problem)
            return
        for need in needs(stages, device, action):
            if need.device == device and need not in made:
                problem = f"expected {describe(need)} before {action}, got it later or never"
                yield Violation(device, position, problem)
        for result in results(device, action):
            if result in made:
                before = made[result]
                maker = f"operation {before} ({order[before]}) has made it; leave one out"
                problem = f"{action} makes {describe(result)} a second time; {maker}"
                yield Violation(device, position, problem)
            made[result] = position
    for chunk in range(stages.chunks):
        for microbatch in stages.microbatches(stages.route(device, chunk), m):
            for kind in ("F", "b", "W"):
                missing = Result(kind, device, chunk, microbatch)
                if missing not in made:
                    yield Violation(device, None, f"no operation makes {describe(missing)}; add it")


def _impossible(device: int, action: Action, stages: Stages, m: int) -> str | None:
    if isinstance(action, Pair) and (action.forward.kind, action.backward.kind) != ("F", "B"):
        return f"expected F and B in a pair, got {action}"
    for step in action.steps:
        if step.kind not in _KINDS:
            return f"expected F, B, b or W, got {step.kind!r}"
        if not 0 <= step.chunk < stages.chunks:
            return f"{step}: expected a chunk below {stages.chunks}, got {step.chunk}"
        known = stages.microbatches(stages.route(device, step.chunk), m)
        if step.microbatch not in known:
            return (
                f"{step}: expected a micro-batch from {known.start} to {known.stop - 1}, "
                f"got {step.microbatch}"
            )
    return None


def _circle(orders: Orders, stages: Stages, stuck: list[Waiting]) -> Violation:
    by_device = {waiting.device: waiting for waiting in stuck}
    path = [stuck[0]]
    while path.count(path[-1]) == 1:
        path.append(by_device[path[-1].awaited.device])
    path = path[path.index(path[-1]) :]
    waits = []
    for waiting in path[:-1]:
        device = waiting.awaited.device
        position = _maker(orders[device], device, waiting.awaited)
        waits.append(
            f"{orders[waiting.device][waiting.position]} of device {waiting.device} waits for "
            f"{orders[device][position]} of device {device} (its operation {position})"
        )
    first = path[0]
    behind = "; and that comes after: " if len(waits) == 1 else "; that comes after: "
    problem = f"the devices wait for each other: {behind.join(waits)}"
    return Violation(first.device, first.position, problem)


def _maker(order: Order, device: int, sought: Result) -> int:
    return next(at for at, action in enumerate(order) if sought in results(device, action))
