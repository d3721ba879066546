"""Terms of collectives from measured times: three numbers of each algorithm and protocol.

Drawn to a usual machine's, as ten sizes do not separate them: all latencies together may move far,
each against the others little.

Trade-off: local minima; the best of several fixed starts is taken. Source: Levenberg (1944) and
Marquardt (1963), pseudo-Huber weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.collectives.terms import Points, Term, features

Reals = NDArray[np.float64]

_ROUND = 0.03  # residuals below this have full weight
_STARTS = 6
_SPREAD = 0.6
_TURNS = 80
_TRIES = 8


class Width(NamedTuple):
    """Deviations of logarithms, of all together and of each; without `step` steps move with
    latencies.
    """

    latency: float
    own_latency: float
    bandwidth: float
    own_bandwidth: float
    step: float | None = None
    own_step: float = 0.0


USUAL = Width(1.0, 0.4, 1.5, 0.3)
"""From a usual machine. Half or twice hardly changes errors at left-out sizes."""

ALIKE = Width(1.0, 0.2, 0.5, 0.15)
"""From the machine of the same name to another site."""

USUAL_OVER_NODES = Width(0.2, 0.2, 1.5, 0.3, step=1.5, own_step=0.4)
"""Over nodes: latencies differ by 0.28 in all, as in a node from A100 to GB300, steps as much as
bandwidths.
"""

ALIKE_OVER_NODES = Width(0.3, 0.1, 0.3, 0.1, step=1.5, own_step=0.2)

_BEYOND_LARGER = 1.2
"""A size this many times slower than a larger one of as many ranks is dropped."""


class Measured(NamedTuple):
    """Collectives and their times in microseconds."""

    at: Points
    us: Reals

    def weights(self) -> Reals:
        places = np.stack([self.at.ranks, self.at.nodes, self.at.size])
        each, which, times = np.unique(places, axis=1, return_inverse=True, return_counts=True)
        which = which.ravel()
        usual = np.array([np.median(self.us[which == place]) for place in range(len(times))])
        counts = np.ones(len(times))
        for place in range(len(times)):
            larger = (each[:2] == each[:2, [place]]).all(axis=0) & (each[2] > each[2, place])
            if usual[place] > _BEYOND_LARGER * usual[larger].min(initial=np.inf):
                counts[place] = 0.0
        return np.asarray((counts / times)[which])


def width_of(where: str, alike: bool) -> Width:
    if where == "nodes":
        return ALIKE_OVER_NODES if alike else USUAL_OVER_NODES
    return ALIKE if alike else USUAL


def fitted(prior: Sequence[Term], runs: Sequence[Measured], width: Width = USUAL) -> list[Term]:
    drawn_to = np.log([[one.latency_us, max(one.step_us, 1e-3), one.bytes_per_us] for one in prior])
    drawn_to[:, 2] *= -1.0
    given = np.concatenate([features(prior, run.at) for run in runs], axis=1)
    wanted = np.log(np.concatenate([run.us for run in runs]))
    counted = np.concatenate([run.weights() for run in runs])
    loss = _Loss(given, wanted, counted, drawn_to, width)
    rng = np.random.default_rng(0)
    starts = [drawn_to + rng.normal(0.0, _SPREAD, drawn_to.shape) for _ in range(_STARTS)]
    best = min((loss.least(start) for start in (drawn_to, *starts)), key=loss.of)
    numbers = np.exp(best)
    return [
        one._replace(
            latency_us=float(latency),
            step_us=float(step) if one.algorithm != "NVLS" else 0.0,
            bytes_per_us=float(1.0 / inverse),
        )
        for one, (latency, step, inverse) in zip(prior, numbers, strict=True)
    ]


class _Loss:
    def __init__(
        self, given: Reals, wanted: Reals, counted: Reals, drawn_to: Reals, width: Width
    ) -> None:
        self.given, self.wanted, self.counted, self.drawn_to = given, wanted, counted, drawn_to
        self.pull = _pull(len(drawn_to), width)
        self.rows = np.arange(len(wanted))

    def of(self, at: Reals) -> float:
        off = np.log(self._taken(at)[2]) - self.wanted
        away = (at - self.drawn_to).ravel()
        sizes = np.sqrt(off * off + _ROUND**2) - _ROUND
        return float(self.counted @ sizes / _ROUND + 0.5 * away @ self.pull @ away)

    def _taken(self, at: Reals) -> tuple[Reals, NDArray[np.intp], Reals]:
        parts = self.given * np.exp(at)[:, None, :]
        us = parts.sum(axis=2)
        best = us.argmin(axis=0)
        return parts, best, us[best, self.rows]

    def _slope(self, at: Reals) -> tuple[Reals, Reals]:
        parts, best, us = self._taken(at)
        off = np.log(us) - self.wanted
        weight = self.counted / np.sqrt(off * off + _ROUND**2) / _ROUND
        moves = np.zeros((len(us), *at.shape))
        moves[self.rows, best] = parts[best, self.rows] / us[:, None]
        flat = moves.reshape(len(us), -1)
        away = (at - self.drawn_to).ravel()
        gradient = flat.T @ (weight * off) + self.pull @ away
        return gradient, (flat * weight[:, None]).T @ flat + self.pull

    def least(self, at: Reals) -> Reals:
        damping, value = 1.0, self.of(at)
        for _ in range(_TURNS):
            gradient, matrix = self._slope(at)
            before = value
            for _ in range(_TRIES):
                damped = matrix + damping * np.diag(np.diag(matrix))
                step = np.clip(-np.linalg.solve(damped, gradient), -1.0, 1.0).reshape(at.shape)
                tried = self.of(at + step)
                if tried < value:
                    at, value, damping = at + step, tried, max(damping / 3.0, 1e-4)
                    break
                damping *= 3.0
            if before - value < 1e-6:
                break
        return at


def _pull(terms: int, width: Width) -> Reals:
    number = np.arange(3 * terms) % 3
    covariance = np.zeros((3 * terms, 3 * terms))
    groups = [(number == 2, width.bandwidth, width.own_bandwidth)]
    if width.step is None:
        groups.append((number < 2, width.latency, width.own_latency))
    else:
        groups.append((number == 0, width.latency, width.own_latency))
        groups.append((number == 1, width.step, width.own_step))
    for mask, shared, own in groups:
        covariance[np.ix_(mask, mask)] += shared**2
        covariance[mask, mask] += own**2
    return np.asarray(np.linalg.inv(covariance))
