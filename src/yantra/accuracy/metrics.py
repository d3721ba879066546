"""Figures of how far predictions are from measurements.

* Error: |ours / measured - 1|, its mean and median (MAPE).
* Rank agreement: Kendall's tau-b of ours and measured within a group of plans, where pairs whose
  measured times are closer than 3 % do not count, as repeated runs differ by as much; groups weigh
  by their pairs.
* Regret: how much longer the plan that we rank first takes than the best of its group, as measured.
* Coverage: the share of measured times within their interval. The interval score of Gneiting and
  Raftery, "Strictly proper scoring rules", JASA 2007, section 6.2, is here of logarithms: the width
  and, where the measured time is outside, 2 / alpha times how far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil, log
from statistics import fmean, median
from typing import NamedTuple

CLOSE = 0.03


class Errors(NamedTuple):
    """Errors of a set of predictions as fractions; `low` and `high` are signed."""

    rows: int
    mean: float
    median: float
    low: float
    high: float
    within_ten: float


def errors(ratios: Sequence[float]) -> Errors:
    """Return the figures of ours as multiples of the measured times; at least one."""
    off = [ratio - 1.0 for ratio in ratios]
    size = [abs(one) for one in off]
    within = sum(one <= 0.10 for one in size) / len(size)
    return Errors(len(off), fmean(size), median(size), min(off), max(off), within)


def concordant(pairs: Sequence[tuple[float, float]], close: float = CLOSE) -> tuple[int, int]:
    """Return how many pairs of (measured, ours) count, and concordant less discordant ones.

    A pair of equal predictions is neither.
    """
    counted = agreeing = 0
    for (a, x), (b, y) in combinations(pairs, 2):
        if max(a, b) / min(a, b) - 1.0 < close:
            continue
        counted += 1
        agreeing += (1 if a > b else -1) * (int(x > y) - int(x < y))
    return counted, agreeing


def tau(groups: Iterable[Sequence[tuple[float, float]]], close: float = CLOSE) -> float | None:
    """Return Kendall's tau over groups of (measured, ours), None where no pair counts."""
    found = [concordant(group, close) for group in groups]
    counted = sum(one for one, _ in found)
    return sum(agreeing for _, agreeing in found) / counted if counted else None


class Regret(NamedTuple):
    """How much longer, as a share, the plans take that we rank first: mean, and 90 % of groups."""

    groups: int
    mean: float
    ninety: float


def regret(groups: Iterable[Sequence[tuple[float, float]]]) -> Regret | None:
    """Return the regret over groups of (measured, ours), None of none.

    Of plans that we rank first together the slowest counts.
    """
    found = []
    for group in groups:
        first = min(ours for _, ours in group)
        chosen = max(measured for measured, ours in group if ours == first)
        found.append(chosen / min(measured for measured, _ in group) - 1.0)
    found.sort()
    return Regret(len(found), fmean(found), found[ceil(0.9 * len(found)) - 1]) if found else None


class Band(NamedTuple):
    """A measured time and the interval that was stated for it."""

    measured: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Return whether the time is within."""
        return self.low <= self.measured <= self.high


def coverage(bands: Sequence[Band]) -> float:
    """Return the share of times within their interval."""
    return sum(band.holds for band in bands) / len(bands)


def interval_score(bands: Sequence[Band], alpha: float = 0.1) -> float:
    """Return the mean interval score of the logarithms; less is better."""
    scores = []
    for band in bands:
        at, low, high = log(band.measured), log(band.low), log(band.high)
        outside = max(low - at, 0.0) + max(at - high, 0.0)
        scores.append(high - low + 2.0 / alpha * outside)
    return fmean(scores)


def cells(mean: float, median: float, bias: float, covered: float) -> tuple[str, str, str, str]:
    """Return errors and how many are within the interval as a table shows them."""
    return f"{mean:.1%}", f"{median:.1%}", f"{bias:+.1%}", f"{covered:.0%}"
