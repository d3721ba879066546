"""Goodput: the useful share of the time of a job that checkpoints, fails and restarts.

Failures of the job are exponential with mean `mtti_s`. A segment of `interval_s` adds
`checkpoint_s`; a failure loses the segment and `restart_s`. Daly's expected time of a segment, over
its useful work, is

    (M / tau) exp(R / M) (exp((tau + d) / M) - 1)

and goodput its inverse.

Sources: Young, "A first order approximation to the optimum checkpoint interval", CACM 1974; Daly,
"A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 2006, equations
20 (expectation) and 37 (interval).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, expm1, inf, log, sqrt
from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got

_LARGEST_EXPONENT = 700.0
_STEPS = 200


class Goodput(NamedTuple):
    """The interval between checkpoints in s, and the useful share, 0 to 1.

    `at_work` is the share of the time in which steps run, also those that are lost.
    """

    interval_s: float
    share: float
    at_work: float


def mtti_of(parts: Mapping[str, tuple[float, float]]) -> float:
    """Return a job's mean time to interrupt, in the unit of its parts' MTBF:

    1 / sum(n / MTBF) over `parts` (number, MTBF); infinite without parts.
    """
    for name, (count, mtbf) in parts.items():
        if count < 0 or not mtbf > 0:
            problem = expected_got("a number of at least 0 and an MTBF above 0", (count, mtbf))
            raise ConfigError(name, problem)
    rate = sum(count / mtbf for count, mtbf in parts.values())
    return 1.0 / rate if rate else inf


def young_interval(mtti_s: float, checkpoint_s: float) -> float:
    """Return sqrt(2 d M) in s (Young 1974)."""
    _check(mtti_s, checkpoint_s, 0.0)
    return sqrt(2.0 * checkpoint_s * mtti_s)


def daly_interval(mtti_s: float, checkpoint_s: float) -> float:
    """Return Daly's interval in s: equation 37, M from d >= 2 M on."""
    _check(mtti_s, checkpoint_s, 0.0)
    if checkpoint_s >= 2.0 * mtti_s:
        return mtti_s
    share = checkpoint_s / (2.0 * mtti_s)
    root = sqrt(2.0 * checkpoint_s * mtti_s)
    return root * (1.0 + sqrt(share) / 3.0 + share / 9.0) - checkpoint_s


def best_interval(mtti_s: float, checkpoint_s: float) -> float:
    """Return the interval in s with the least expected time,

    where exp((tau + d) / M) (1 - tau / M) is 1.
    """
    _check(mtti_s, checkpoint_s, 0.0)
    d = checkpoint_s / mtti_s
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        x = (low + high) / 2.0
        if x in (low, high):
            break
        if x + d + log(1.0 - x) > 0.0:
            low = x
        else:
            high = x
    return (low + high) / 2.0 * mtti_s


def goodput(mtti_s: float, checkpoint_s: float, restart_s: float, interval_s: float) -> float:
    """Return the useful share, 0 to 1, for an interval between checkpoints:

    1 without failures and costs, 0 if nothing would ever be done. Raises ConfigError for an invalid
    time.
    """
    _check(mtti_s, checkpoint_s, restart_s)
    if not interval_s > 0.0:
        raise ConfigError("interval", expected_got("a time above 0", interval_s))
    if mtti_s == inf:
        return interval_s / (interval_s + checkpoint_s)
    segment, restart = (interval_s + checkpoint_s) / mtti_s, restart_s / mtti_s
    if segment + restart > _LARGEST_EXPONENT:
        return 0.0
    return interval_s / mtti_s / (exp(restart) * expm1(segment))


def at_work(mtti_s: float, checkpoint_s: float, restart_s: float, interval_s: float) -> float:
    """Return the share of the time in which steps run, also those that are lost:

    exp(-R / M) (1 - exp(-tau / M)) / (1 - exp(-(tau + d) / M)), as a restart is down until none
    failed for R, and each try of a segment stops at its first failure.
    """
    _check(mtti_s, checkpoint_s, restart_s)
    if checkpoint_s == 0.0 or interval_s == inf:
        return exp(-restart_s / mtti_s)
    if mtti_s == inf:
        return interval_s / (interval_s + checkpoint_s)
    tries = expm1(-interval_s / mtti_s) / expm1(-(interval_s + checkpoint_s) / mtti_s)
    return exp(-restart_s / mtti_s) * tries


def best_goodput(mtti_s: float, checkpoint_s: float, restart_s: float) -> Goodput:
    """Return the best interval and its goodput; infinite without failures."""
    if mtti_s == inf or checkpoint_s == 0.0:
        _check(mtti_s, checkpoint_s, restart_s)
        share = exp(-restart_s / mtti_s)
        return Goodput(inf if mtti_s == inf else 0.0, share, share)
    interval = best_interval(mtti_s, checkpoint_s)
    times = (mtti_s, checkpoint_s, restart_s, interval)
    return Goodput(interval, goodput(*times), at_work(*times))


def _check(mtti_s: float, checkpoint_s: float, restart_s: float) -> None:
    if not mtti_s > 0.0:
        raise ConfigError("mtti", expected_got("a time above 0", mtti_s))
    if not 0.0 <= checkpoint_s < inf:
        raise ConfigError("checkpoint", expected_got("a time of at least 0", checkpoint_s))
    if not 0.0 <= restart_s < inf:
        raise ConfigError("restart", expected_got("a time of at least 0", restart_s))
