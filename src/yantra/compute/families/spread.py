"""How tokens are spread over experts, and how many the busiest device gets.

By a power law x^-a (Devroye, "Non-uniform random variate generation", 1986, section II.2); sums
over experts as gamma distributed (Wilson and Hilferty, PNAS 1931), the greatest of d as the
quantile 1 - e^-g / d (Gumbel).

Trade-off: within 20 % of drawn means for 32 experts and more, 30 % below for 8.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from yantra.compute.families.surface import Reals

SKEWS = (0, 101, 120)
"""Hundredths of the exponents of the tables: balanced, power laws of 1.01 and 1.2."""

POINTS = 4
"""How many loads represent a device's experts."""

_WIDEST = 0.8  # of all tokens, at one expert
_FEW = 200.0  # most over least with fewer rows than experts
_EULER = 0.5615  # e^-(Euler's constant)


class Law(NamedTuple):
    """A power law of experts' loads: its range, 1 - its exponent, and how much of it applies."""

    widest: Reals
    power: Reals
    part: Reals


def law(rows: Reals, tokens: Reals, experts: Reals, skew: Reals) -> Law:
    widest = np.where(rows > experts, np.maximum(_WIDEST * tokens, 1.001), _FEW)
    exponent = np.clip(skew, SKEWS[1], SKEWS[-1]) / 100
    return Law(widest, 1 - exponent, np.minimum(skew / SKEWS[1], 1.0))


def _moment(of: Law, power: int) -> Reals:
    up = of.power + power
    made: Reals = (of.widest**up - 1) / up * of.power / (of.widest**of.power - 1)
    return made


def busiest(of: Law, on_device: Reals, devices: Reals) -> Reals:
    """The rows of the busiest of `devices` over the mean; each has `on_device` experts."""
    mean = _moment(of, 1)
    spread = _moment(of, 2) / mean**2 - 1
    share = on_device / np.maximum(spread * (1 - 1 / np.maximum(devices, 1.001)), 1e-9)
    many, which = np.unique(np.maximum(devices, 1.0), return_inverse=True)
    normal = NormalDist()
    deviations = np.array([normal.inv_cdf(1 - _EULER / one) for one in many])
    score = deviations[which.reshape(devices.shape)]
    gamma = np.maximum(1 - 1 / (9 * share) + score / (3 * np.sqrt(share)), 0) ** 3
    most = np.minimum(np.maximum(of.widest / mean, 1), np.maximum(devices, 1))
    made: Reals = np.where(devices > 1.5, np.clip(gamma, 1, most), 1.0) ** of.part
    return made


def loads(of: Law, on_device: Reals) -> list[Reals]:
    """The loads of a device's experts over their mean; a single expert has the mean."""
    steep = 1 / of.power + 1
    edges = [((of.widest**of.power - 1) * at / POINTS + 1) ** steep for at in range(POINTS + 1)]
    whole = (edges[-1] - edges[0]) / POINTS
    power = of.part * (1 - 1 / np.maximum(on_device, 1))
    flat = [((high - low) / whole) ** power for low, high in pairwise(edges)]
    level = np.mean(flat, axis=0)
    return [one / level for one in flat]
