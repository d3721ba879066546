"""What a list of requests is like: how many a second, how long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.text import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from yantra.serving.requests.types import Requests


class Lengths(NamedTuple):
    """Tokens of prompts, or of outputs."""

    mean: float
    p50: int
    p99: int
    max: int


@dataclass(frozen=True)
class Statistics:
    """What `yantra serve` prints of requests; `rate_per_s` is None where arrivals do not say it:
    all come at once, or some follow others."""

    count: int
    span_s: float
    rate_per_s: float | None
    follow: int
    """Requests that arrive after another has finished."""
    prompt: Lengths
    output: Lengths

    def __str__(self) -> str:
        """Return a headline and a table."""
        rate = "all at once" if self.rate_per_s is None else f"{self.rate_per_s:,.3f}/s"
        if self.follow:
            rate = f"{self.follow:,} of them after another"
        rows = [
            (name, f"{one.mean:,.1f}", f"{one.p50:,}", f"{one.p99:,}", f"{one.max:,}")
            for name, one in (("prompt", self.prompt), ("output", self.output))
        ]
        head = f"{self.count:,} requests in {self.span_s:,.1f} s, {rate}"
        return "\n".join([head, *table(("tokens", "mean", "p50", "p99", "max"), rows)])


def statistics(them: Requests) -> Statistics:
    if not len(them):
        raise ConfigError("requests.statistics", "expected at least one request, got none")
    span = them.span_s
    follow = int((them.after >= 0).sum())
    rate = len(them) / span if span and not follow else None
    return Statistics(len(them), span, rate, follow, lengths(them.prompt), lengths(them.output))


def lengths(column: NDArray[np.int64]) -> Lengths:
    ordered = np.sort(column)
    ranks = [-(-percent * len(ordered) // 100) - 1 for percent in (50, 99, 100)]
    p50, p99, most = (int(ordered[rank]) for rank in ranks)
    return Lengths(float(column.mean()), p50, p99, most)
