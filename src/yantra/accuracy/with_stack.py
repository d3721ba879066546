"""A measured step run with a stack, bit for bit as `yantra run --stack` runs it.

The stack's factors, launches, stragglers and copies are those of the row's machine, and so is its
profile where the row has none of its own. Trade-off: what a run costs, some 0.1 s and for its
interval twice that again; a step's sum of parts would be faster, but it is only near the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log
from typing import NamedTuple

from yantra.accuracy.rows import Row
from yantra.base.errors import YantraError
from yantra.compile import Model as Compiled
from yantra.compile import compile, compile_like
from yantra.fabric.stacks.types import Stack
from yantra.run.interval import beside, bounds, class_widths, responses, stated_by_stack, stated_of
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.training.train import train


class Refused(NamedTuple):
    """A row that the planner or the model refuses with some stack, and why."""

    row: Row
    stack: str
    why: str


class Step(NamedTuple):
    """A row run with a stack: its seconds, and the 90 % interval that a run with it prints.

    `shares` are those of products, attention and the rest in the time: by how much its logarithm
    grows with those of the factors, `widths` what their kernels may be off by. `low` and `high` are
    in s, and 0 where the stack has none; `beside` is the half-width that is not the stack's.
    """

    row: Row
    stack: str
    seconds: float
    shares: tuple[float, ...]
    low: float
    high: float
    widths: tuple[float, ...] = ()
    beside: float = 0.0

    @property
    def off(self) -> float:
        """Return the logarithm of measured / predicted."""
        return log(self.row.seconds / self.seconds)

    @property
    def error(self) -> float:
        """Return predicted / measured - 1."""
        return self.seconds / self.row.seconds - 1.0

    @property
    def held(self) -> bool | None:
        """Return whether the measured time is within the interval; None where there is none."""
        return self.low <= self.row.seconds <= self.high if self.high else None


def scenario_with(row: Row, stack: Stack) -> Scenario:
    """Return the scenario of a row with a stack. Raises ConfigError where it is refused."""
    profile = row.profile or None
    parts = parts_at(row.cluster, row.ranks, row.dtype, "measured", stack=stack, profile=profile)
    workload = Templates(workload=train(row.made_model(), row.made_plan()))
    return Scenario(workload=workload, **parts)


def with_stacks(
    row: Row, stacks: Iterable[Stack], *, intervals: bool = True
) -> list[Step | Refused]:
    """Return a row run with each stack; without `intervals` in a third of the time, without shares.

    Stacks that differ in numbers alone share what is compiled.
    """
    made: dict[object, Compiled] = {}
    found: list[Step | Refused] = []
    for stack in stacks:
        profile = row.profile or stack.profile(row.machine, row.dtype)
        key = (profile, stack.copies, stack.attention_library)
        try:
            scenario = scenario_with(row, stack)
            if key not in made:
                made[key] = compile(scenario)
            model = compile_like(made[key], made[key].scenario.replace(stack=scenario.stack))
            found.append(_step(row, stack.name, model, intervals))
        except YantraError as error:
            found.append(Refused(row, stack.name, str(error)))
    return found


def _step(row: Row, name: str, model: Compiled, intervals: bool) -> Step:
    result = run(model)
    seconds = float(result.finish_ns.max()) / 1e9
    if not intervals:
        return Step(row, name, seconds, (), 0.0, 0.0)
    shares, widths = responses(result), class_widths(model)
    low = high = 0.0
    added = beside(model, shares, widths)
    if stated_by_stack(model):
        low, high = bounds(stated_of(model, shares, widths))
    told = tuple(map(float, shares))
    return Step(row, name, seconds, told, low * seconds, high * seconds, tuple(widths), added)
