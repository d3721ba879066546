"""The best trials of a study, simulated: exact times, and the closed form's error.

Trials on the front, best first objective first. Memory is exact already; cost and energy scale with
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.text import table
from yantra.base.units import format_time
from yantra.explore.closed_form.exact import Budget
from yantra.explore.study.objectives import sign
from yantra.explore.study.point import scenario_of
from yantra.explore.study.study import Finished, as_points
from yantra.explore.study.study_file import Study

USUAL = 3
"""Trials that a run of a study simulates unless it is told another number."""


class Confirmed(NamedTuple):
    """A trial's step time in ns by closed form and by simulation,

    None if a run takes too long; `reason` says why.
    """

    trial: int
    closed_ns: float
    simulated_ns: float | None
    reason: str

    @property
    def off(self) -> float | None:
        """The closed form's excess, a share of the simulated time."""
        return None if self.simulated_ns is None else self.closed_ns / self.simulated_ns - 1


def confirm(
    study: Study,
    finished: Finished,
    count: int = USUAL,
    tell: Callable[[int, int], None] | None = None,
) -> list[Confirmed]:
    first = study.objectives[0]
    way = sign(first)
    best = sorted(finished.front, key=lambda number: way * float(finished.trials[number][first]))
    of, budget = as_points(study, finished.trials), Budget()
    found: list[Confirmed] = []
    for number in best[:count]:
        if tell is not None:
            tell(len(found), min(count, len(best)))
        closed = float(finished.trials[number]["step_time"]) * 1e9
        found.append(Confirmed(number, closed, *_exact(budget, of, finished, number)))
    return found


def _exact(budget: Budget, of: Study, finished: Finished, number: int) -> tuple[float | None, str]:
    try:
        exact = budget.simulate(scenario_of(of, finished, number))
    except (ConfigError, UnsupportedError) as error:
        return None, str(error).partition("\n")[0]
    return None if exact.result is None else float(exact.result.makespan_ns), exact.reason


def words(found: Sequence[Confirmed]) -> Iterator[str]:
    if not found:
        return
    rows = [
        (
            str(one.trial),
            format_time(one.closed_ns),
            "" if one.simulated_ns is None else format_time(one.simulated_ns),
            one.reason if one.off is None else f"{100 * one.off:+.2f} %",
        )
        for one in found
    ]
    yield "the best of the front, simulated:"
    yield from (f"  {line}" for line in table(("trial", "closed form", "simulated", "off"), rows))
    errors = [abs(one.off) for one in found if one.off is not None]
    if errors:
        yield f"the closed form is at most {100 * max(errors):.2f} % off on these"
