"""How sure the winner of a study is: the probability of each trial to be the best, and to beat it.

Each value is known to within an interval of 90 of 100 cases, value / (1 + w) to value x (1 + w);
its logarithm is taken as normal. Values err independently of each other, so

    P(A beats B) = Phi(ln(B / A) / sqrt(sA^2 + sB^2))
    P(A is best) = integral of the density of A times the chance of all others to be above

Trade-off: what is wrong with all trials alike changes no order. Intervals that include such errors
make the odds look more even than they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import erf, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import table
from yantra.explore.objectives import sign
from yantra.explore.study import Finished
from yantra.explore.study_file import Study

CLOSED_FORM = 0.035
"""Nine tenths of plans are within this of their simulation; `benchmarks.closed_form_error`."""
_OF_90 = 1.6448536269514722  # standard deviations that 90 of 100 cases are within
_STEPS = 4001
_LEAST = 1e-300
_REACH = 8.0


class Odds(NamedTuple):
    """Of one trial: its value, the half-width of its interval, and its chances.

    `best` is the probability to be the best of all, `beats` to be better than the winner; None for
    the winner itself.
    """

    trial: int
    value: float
    within: float
    best: float
    beats: float | None


def chance(first: float, second: float, first_within: float, second_within: float) -> float:
    """Return the probability that the first of two values is below the second."""
    spread = sqrt(_sigma(first_within) ** 2 + _sigma(second_within) ** 2)
    distance = log(second / first)
    if spread == 0.0:
        return 0.5 if distance == 0.0 else float(distance > 0.0)
    return 0.5 * (1.0 + erf(distance / spread / sqrt(2.0)))


def odds_of(
    study: Study, finished: Finished, within: Mapping[str, float] | None = None
) -> tuple[Odds, ...]:
    """Return the odds of all feasible trials in the first objective, the likeliest first.

    `within` are half-widths of 90 % intervals by cluster, "" for the others; without, the closed
    form's. Raises ConfigError where nothing is feasible, and for a cluster the study does not have.
    """
    given = {"": CLOSED_FORM, **(within or {})}
    for name in given:
        if name and name not in study.clusters:
            problem = expected_got(f"one of {', '.join(study.clusters)}", name)
            raise ConfigError("--within", problem + did_you_mean(name, study.clusters))
    feasible = [n for n, one in enumerate(finished.trials) if not one["broken"]]
    if not feasible:
        raise ConfigError("study", "no trial is feasible, so none can be the best")
    first = study.objectives[0]
    shown = [float(finished.trials[n][first]) for n in feasible]
    # Where more is better, its reciprocal is less.
    values = [max(value, _LEAST) ** sign(first) for value in shown]
    widths = [given.get(finished.trials[n]["cluster"], given[""]) for n in feasible]
    best = _best(np.array(values), np.array([_sigma(one) for one in widths]))
    winner = int(np.argmin(values))
    found = [
        Odds(
            n,
            value,
            width,
            float(share),
            None if at == winner else chance(value, values[winner], width, widths[winner]),
        )
        for at, (n, value, width, share) in enumerate(
            zip(feasible, values, widths, best, strict=True)
        )
    ]
    of = dict(zip(feasible, shown, strict=True))
    found.sort(key=lambda one: (-one.best, one.value))
    return tuple(one._replace(value=of[one.trial]) for one in found)


def _sigma(within: float) -> float:
    return log1p(within) / _OF_90


def _best(values: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
    """Return each value's probability to be the least; they sum to 1."""
    if not sigmas.any():
        least = values == values.min()
        shares: np.ndarray = least / least.sum()
        return shares
    centres, spread = np.log(values), np.maximum(sigmas, sigmas.max() * 1e-3)
    low = (centres - _REACH * spread).min()
    high = (centres + _REACH * spread).min()  # the least value is hardly ever above this
    x = np.linspace(low, high, _STEPS)
    scaled = (x - centres[:, None]) / spread[:, None]
    above = np.array([[0.5 * (1.0 - erf(one / sqrt(2.0))) for one in row] for row in scaled])
    density = np.exp(-0.5 * scaled**2) / spread[:, None]
    others = np.array([np.delete(above, at, axis=0).prod(axis=0) for at in range(len(values))])
    mass = (density * others).sum(axis=1)
    result: np.ndarray = mass / mass.sum()
    return result


def words(study: Study, finished: Finished, found: tuple[Odds, ...]) -> Iterator[str]:
    """Yield the odds for a terminal."""
    rows = []
    for one in found:
        trial = finished.trials[one.trial]
        scale = " ".join(f"{name} x{factor:g}" for name, factor in trial["scale"].items())
        rows.append(
            (
                str(one.trial),
                trial["cluster"],
                str(trial["ranks"]),
                scale,
                f"{one.value:.6g}",
                f"{100 * one.within:.3g} %",
                f"{100 * one.best:.1f} %",
                "" if one.beats is None else f"{100 * one.beats:.1f} %",
            )
        )
    head = ("trial", "cluster", "ranks", "scale", study.objectives[0], "within", "is best")
    yield from table((*head, "beats the winner"), rows)


def read_within(text: str) -> tuple[str, float]:
    """Read `10%` or `hgx-b200=15%`: a cluster, empty for all, and a share. Raises ConfigError."""
    name, _, value = text.rpartition("=")
    number = value.strip().removesuffix("%").strip()
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not value.strip().endswith("%") or not 0 <= share < 100:
        raise ConfigError("--within", expected_got("a percentage, such as 10% or NAME=10%", text))
    return name.strip(), share
