"""What users of a service feel: times to tokens, percentiles, and whether promises are kept.

TTFT = first token - arrival, with the queue; TPOT = (last - first) / (output - 1), not of one
token; ITL = each gap; E2E = last token - arrival. Goodput = requests per second that keep all
objectives (Zhong et al., "DistServe", OSDI 2024).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, expected_got
from yantra.base.units import format_time, read_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.serving.fleet import Ran

PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_OBJECTIVE = re.compile(r"(?:(mean|p\d{1,2}(?:\.\d+)?)\s+)?(.+)")


class Spread(NamedTuple):
    """Mean and percentiles of a column, in its unit; NaN of none."""

    mean: float
    """Of all values."""
    percentiles: tuple[float, ...]
    """Those of `PERCENTILES`: 50, 90, 95, 99."""
    most: float
    """The largest value."""

    def at(self, percentile: float) -> float:
        """Return one of `PERCENTILES`."""
        return self.percentiles[PERCENTILES.index(percentile)]


def nearest_rank(values: np.ndarray, percentile: float, weights: np.ndarray | None = None) -> float:
    if not len(values):
        return float("nan")
    if weights is None:
        rank = max(int(np.ceil(percentile / 100 * len(values))), 1)
        return float(np.partition(values, rank - 1)[rank - 1])
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(passed, percentile / 100 * passed[-1])]])


def spread(values: np.ndarray, weights: np.ndarray | None = None) -> Spread:
    """Return mean, percentiles and the largest of a column."""
    if not len(values):
        nothing = float("nan")
        return Spread(nothing, (nothing,) * len(PERCENTILES), nothing)
    if weights is None:
        ranked = np.sort(values)
        ranks = [max(int(np.ceil(p / 100 * len(values))), 1) - 1 for p in PERCENTILES]
        return Spread(float(values.mean()), tuple(ranked[ranks].tolist()), float(ranked[-1]))
    found = tuple(nearest_rank(values, p, weights) for p in PERCENTILES)
    return Spread(float(np.average(values, weights=weights)), found, float(values.max()))


class Objective(NamedTuple):
    """So much time, in s, that a share of requests (or the mean, None) may take."""

    measure: str
    """`ttft`, `tpot` or `e2e`."""
    percentile: float | None
    """How many of 100 keep it; None: the mean does."""
    seconds: float
    """The bound."""

    @classmethod
    def of(cls, measure: str, text: str, where: str) -> Objective:
        """Read `p99 500 ms`, `mean 50 ms` or `500 ms`, which is p99."""
        match = _OBJECTIVE.fullmatch(text.strip())
        if match is None:
            raise ConfigError(where, expected_got("a bound such as 'p99 500 ms'", text))
        seconds = read_seconds(match[2], where)
        name = match[1] or "p99"
        return cls(measure, None if name == "mean" else float(name[1:]), seconds)

    def value(self, ran: Ran) -> float:
        """Return what the run has for it, in s."""
        values = column(ran, self.measure)
        if self.percentile is None:
            return float(values.mean())
        return nearest_rank(values, self.percentile)

    def __str__(self) -> str:
        share = "mean" if self.percentile is None else f"p{self.percentile:g}"
        return f"{self.measure.upper()} {share} {format_time(self.seconds * 1e9)}"


def column(ran: Ran, measure: str) -> np.ndarray:
    """Return ttft, tpot or e2e of a run, in s."""
    return {"ttft": ran.ttft_s, "tpot": ran.tpot_s, "e2e": ran.e2e_s}[measure]


def kept(ran: Ran, objectives: Sequence[Objective]) -> np.ndarray:
    good = np.ones(len(ran.requests), bool)
    for objective in objectives:
        values = column(ran, objective.measure)
        if objective.measure == "tpot":
            whole = np.zeros(len(ran.requests))
            whole[ran.requests.output > 1] = values
            values = whole
        good &= values <= objective.seconds
    return good


def still_rises(ran: Ran) -> bool:
    """Whether arrivals end before the load of their rate is there: within two requests' times.

    Those that all come at once have no rate.
    """
    return len(ran.requests) >= 50 and 0.0 < ran.arriving_s < 2.0 * float(ran.e2e_s.mean())


def is_overloaded(ran: Ran) -> bool:
    """Whether requests come faster than they leave, so that means only say how long the trace was.

    The last tenth that arrives queues longer than it is served, and 1.5 times as long as the tenth
    in the middle; with fewer than 50 requests nothing can be said.
    """
    size = len(ran.requests)
    tenth = size // 10
    if tenth < 5:
        return False
    order = np.argsort(ran.column("arrival"), kind="stable")
    queue = ran.queue_s[order]
    served = ran.e2e_s[order] - queue
    middle = size // 2 - tenth // 2
    last, before = queue[-tenth:].mean(), queue[middle : middle + tenth].mean()
    return bool(last > served[-tenth:].mean() and last > 1.5 * before)
