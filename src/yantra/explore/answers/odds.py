"""The probability of each trial to be the best, and to beat the winner.

The logarithm of each value is normal, with a 90 % interval. Two parts widen it (`widths.py`).
`Result.interval` is the error of machine and framework: shared by the trials of a cluster,
independent between clusters. The closed form's error is each trial's own.

    P(A beats B) = Phi(ln(B / A) / s)
    s^2 = oA^2 + oB^2 + cA^2 + cB^2; for two of one cluster oA^2 + oB^2 + (cA - cB)^2
    P(A is best) = integral of the density of A times the chance of all others to be above

o and c are the deviations of the value's own and of its cluster.

Trade-off: an error common to all clusters counts as one of each cluster, so odds between clusters
look too even.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import erf, log, sqrt
from typing import NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.text import table
from yantra.explore.answers.widths import Width, deviation_of, widths_of
from yantra.explore.study.objectives import sign
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study, scale_words

_DRAWS = 1 << 16
_STEPS = 4001
_LEAST = 1e-300
_REACH = 8.0


class Odds(NamedTuple):
    """A trial's value, the half-width of its interval, and its chances.

    `best` is the probability to be best, `beats` to be better than the winner (None for it).
    """

    trial: int
    value: float
    within: float
    best: float
    beats: float | None


def chance(first: float, second: float, first_within: float, second_within: float) -> float:
    """Return the probability that the first of two values is below the second."""
    widths = [Width(deviation_of(one)) for one in (first_within, second_within)]
    return _chance(first, second, *widths)


def odds_of(
    study: Study,
    finished: Finished,
    within: Mapping[str, float] | None = None,
    stack: str | None = None,
) -> tuple[Odds, ...]:
    """Return the odds of all feasible trials in the first objective, likeliest first.

    Intervals are those of each trial's stack, or of `stack`; at speeds alone, of `unknown`.
    `within` overrides them: half-widths of 90 % intervals by cluster, "" for the others. Raises
    ConfigError if nothing is feasible, and for an unknown cluster or stack.
    """
    given = dict(within or {})
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
    clusters = [finished.trials[n]["cluster"] for n in feasible]
    if "" in given or all(name in given for name in clusters):
        made = {n: Width(0.0) for n in feasible}
    else:
        made = widths_of(study, finished, dict(zip(feasible, values, strict=True)), stack)
    widths = [
        Width(deviation_of(given.get(name, given[""]))) if name in given or "" in given else made[n]
        for n, name in zip(feasible, clusters, strict=True)
    ]
    best = _shares(np.array(values), widths)
    winner = int(np.argmin(values))
    found = [
        Odds(
            n,
            value,
            width.within,
            float(share),
            None if at == winner else _chance(value, values[winner], width, widths[winner]),
        )
        for at, (n, value, width, share) in enumerate(
            zip(feasible, values, widths, best, strict=True)
        )
    ]
    of = dict(zip(feasible, shown, strict=True))
    found.sort(key=lambda one: (-one.best, one.value))
    return tuple(one._replace(value=of[one.trial]) for one in found)


def _chance(first: float, second: float, one: Width, other: Width) -> float:
    spread = one.apart(other)
    distance = log(second / first)
    if spread == 0.0:
        return 0.5 if distance == 0.0 else float(distance > 0.0)
    return 0.5 * (1.0 + erf(distance / spread / sqrt(2.0)))


def _shares(values: np.ndarray, widths: list[Width]) -> np.ndarray:
    own = np.array([one.own for one in widths])
    names = sorted({one.cluster for one in widths if one.of_cluster})
    if not names:
        return _best(values, own)
    rng = np.random.default_rng(0)
    drawn = {name: rng.standard_normal(_DRAWS) for name in names}
    least, best = np.full(_DRAWS, np.inf), np.zeros(_DRAWS, dtype=np.int64)
    for at, (value, one) in enumerate(zip(values, widths, strict=True)):
        logarithm = log(value) + one.own * rng.standard_normal(_DRAWS)
        if one.of_cluster:
            logarithm += one.of_cluster * drawn[one.cluster]
        lower = logarithm < least
        least[lower], best[lower] = logarithm[lower], at
    counts: np.ndarray = np.bincount(best, minlength=len(values)) / _DRAWS
    return counts


def _best(values: np.ndarray, sigmas: np.ndarray) -> np.ndarray:
    """Return each value's probability to be the least, for independent errors."""
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
    rows = []
    for one in found:
        trial = finished.trials[one.trial]
        scale = scale_words(study, trial)
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
