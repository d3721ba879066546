"""Break points: at which speed of a part another plan wins, or two trials cost the same.

The best plan is found on a grid of factors of one rate; halving finds where it changes, to 0.1 %.
Trials are compared in the study's first objective.

Simulation confirms a break point: 5 % away from it, the plan that wins on each side must be faster.

Trade-off: a plan that is best only between two points of the grid can be missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import table
from yantra.base.units import format_time
from yantra.explore.answers.why import plan_text
from yantra.explore.closed_form.exact import Budget
from yantra.explore.closed_form.machine import Machine
from yantra.explore.study.objectives import unstated
from yantra.explore.study.study_file import Study, point_words
from yantra.explore.study.trial import Plans, figures, plans_of
from yantra.fabric.stacks.choice import ROOFLINE, WITHOUT_TERMS
from yantra.scenario import Scenario, Templates
from yantra.workloads.training.train import train

_POINTS = 9
_NEAR = 1.001
_AWAY = (1.05, 1.2, 1.5, 2.0)
SIMULATED = ("peak", "memory", "links")


class Reach(NamedTuple):
    """A plan and the factors between which it is best; times in ns at both."""

    low: float
    high: float
    plan: dict[str, int]
    row: int
    low_ns: float
    high_ns: float


class Confirmed(NamedTuple):
    """A break point simulated a factor `away` below and above: times in ns of both plans.

    `holds`: the right plan wins on each side; `reason`: why that is unknown.
    """

    factor: float
    away: float
    below_ns: tuple[float, float] | None
    above_ns: tuple[float, float] | None
    reason: str

    @property
    def holds(self) -> bool | None:
        if self.below_ns is None or self.above_ns is None:
            return None
        return self.below_ns[0] <= self.below_ns[1] and self.above_ns[1] <= self.above_ns[0]


class Even(NamedTuple):
    """Where two trials break even: the factor, or None and both values at either end."""

    factor: float | None
    ends: tuple[tuple[float, float], tuple[float, float]]


class _Varied:
    def __init__(self, plans: Plans, rate: str) -> None:
        self.plans, self.rate = plans, rate
        self._judged: dict[float, tuple[int, float, Plans]] = {}

    def at(self, factor: float) -> tuple[int, float, Plans]:
        if factor not in self._judged:
            there = self.plans.at(self.plans.scale.times(self.rate, factor))
            row = there.best()
            self._judged[factor] = row, float(there.judged.time_ns[row]), there
        return self._judged[factor]


def plans_by_rate(
    study: Study, number: int, rate: str, low: float, high: float
) -> tuple[Reach, ...]:
    """Return the best plan of a trial by factor of a rate, ascending.

    Raises ConfigError for a rate that the cluster does not have.
    """
    varied = _varied(study, number, rate)
    grid = [float(one) for one in np.geomspace(low, high, _POINTS)]
    borders = [(grid[0], varied.at(grid[0])[0])]
    for start, end in pairwise(grid):
        borders += list(_changes(varied, start, end))
    found = []
    for at, (start, row) in enumerate(borders):
        end = borders[at + 1][0] if at + 1 < len(borders) else grid[-1]
        times = (float(varied.at(one)[2].judged.time_ns[row]) for one in (start, end))
        plan = {name: int(of[row]) for name, of in varied.plans.columns.items()}
        found.append(Reach(start, end, plan, row, *times))
    return tuple(found)


def _varied(study: Study, number: int, rate: str) -> _Varied:
    plans = plans_of(study, number)
    known = plans.machine.rates
    if rate not in known:
        problem = expected_got(f"one of {', '.join(known)}", rate)
        raise ConfigError("--vary", problem + did_you_mean(rate, known))
    return _Varied(plans, rate)


def _changes(varied: _Varied, low: float, high: float) -> Iterator[tuple[float, int]]:
    if varied.at(low)[0] == varied.at(high)[0]:
        return
    if high / low < _NEAR:
        yield high, varied.at(high)[0]
        return
    middle = sqrt(low * high)
    yield from _changes(varied, low, middle)
    yield from _changes(varied, middle, high)


def confirm(study: Study, number: int, rate: str, reaches: tuple[Reach, ...]) -> list[Confirmed]:
    """Simulate both sides of every break point.

    Raises ConfigError for a rate that a run scales by another law.
    """
    if rate.split()[0] not in SIMULATED:
        problem = "peak, memory or links; latency stands for fixed times of many kinds"
        raise ConfigError("--simulate", expected_got(problem, rate))
    plans, budget = plans_of(study, number), Budget()
    if plans.machine.stack not in WITHOUT_TERMS:
        problem = f"times of stack {plans.machine.stack} at other rates are by closed form alone"
        raise ConfigError("--simulate", f"{problem}; give the study stack: {ROOFLINE}")
    return [_confirm(plans, rate, budget, below, above) for below, above in pairwise(reaches)]


def _confirm(plans: Plans, rate: str, budget: Budget, below: Reach, above: Reach) -> Confirmed:
    rows = below.row, above.row
    for away in _AWAY:
        found = [
            _simulated(plans.at(plans.scale.times(rate, factor)), budget, rows)
            for factor in (above.low / away, above.low * away)
        ]
        sides = [None if isinstance(one, str) else one for one in found]
        reason = next((one for one in found if isinstance(one, str)), "")
        result = Confirmed(above.low, away, sides[0], sides[1], reason)
        if result.holds is not False:
            break
    return result


def _simulated(plans: Plans, budget: Budget, rows: tuple[int, int]) -> tuple[float, float] | str:
    space = plans.space
    parts = Machine(
        plans.cluster, space.ranks, plans.scale, dtype=space.dtype, stack=plans.machine.stack
    ).parts
    times = []
    for row in rows:
        workload = train(plans.model, space.plan(plans.columns, row), space.sequence)
        exact = budget.simulate(Scenario(workload=Templates(workload=workload), **parts))
        if exact.result is None:
            return exact.reason
        times.append(exact.result.makespan_ns)
    return times[0], times[1]


def break_even(study: Study, number: int, other: int, rate: str, low: float, high: float) -> Even:
    """Return the factor of a rate of one trial at which the other is as good.

    Compares the first objective. Raises ConfigError if it is unknown for one.
    """
    varied = _varied(study, number, rate)
    rival = plans_of(study, other)
    against = _value(rival, rival.best(), other)

    def lead(factor: float) -> float:
        row, _, plans = varied.at(factor)
        return log(against / _value(plans, row, number))

    first, last = (against / exp(lead(one)) for one in (low, high))
    ends = (first, against), (last, against)
    if lead(low) * lead(high) > 0:
        return Even(None, ends)
    while high / low > _NEAR:
        middle = sqrt(low * high)
        low, high = (middle, high) if lead(low) * lead(middle) > 0 else (low, middle)
    return Even(sqrt(low * high), ends)


def _value(plans: Plans, row: int, number: int) -> float:
    name = plans.study.objectives[0]
    value = figures(plans, row)[name]
    if value is None:
        why = unstated(name, plans.cluster.name)
        raise ConfigError("objectives", f"trial {number} has no {why}")
    return float(value)


def words(
    study: Study, number: int, rate: str, reaches: tuple[Reach, ...], found: list[Confirmed]
) -> Iterator[str]:
    yield f"trial {number}: {point_words(study, number)}; the best plan by the factor of {rate}"
    rows = [
        (
            f"x{one.low:.4g}",
            f"x{one.high:.4g}",
            format_time(one.low_ns),
            format_time(one.high_ns),
            plan_text(one.plan),
        )
        for one in reaches
    ]
    head = ("from", "to", "time at first", "at last", "plan")
    yield from (f"  {line}" for line in table(head, rows))
    for one in found:
        yield f"  x{one.factor:.4g} simulated: {_said(one)}"


def _said(one: Confirmed) -> str:
    if one.below_ns is None or one.above_ns is None:
        return f"not confirmed, {one.reason}"
    sides = (
        f"{format_time(first)} against {format_time(second)}"
        for first, second in (one.below_ns, (one.above_ns[1], one.above_ns[0]))
    )
    how = "holds" if one.holds else "does not hold"
    away = f"{100 * (one.away - 1):.0f} %"
    return f"{how}; {away} below {next(sides)}, {away} above {next(sides)}"


def even_words(study: Study, pair: tuple[int, int], rate: str, even: Even) -> str:
    names = [f"trial {one} ({point_words(study, one)})" for one in pair]
    objective = study.objectives[0]
    if even.factor is not None:
        return f"{names[0]} breaks even with {names[1]} in {objective} at {rate} x{even.factor:.4g}"
    ends = " to ".join(f"{own:.6g}" for own, _ in even.ends)
    values = f"{objective} {ends}, against {even.ends[0][1]:.6g}"
    return f"{names[0]} does not break even with {names[1]}: {values}"
