"""Kernels under a cap of power: one that would draw more takes longer, until it draws the cap.

    time x (draw - floor) / (cap - floor)

as what a device draws above its floor is taken as linear in its speed. Voltage falls with the
clock, so devices lose less: with a draw like the clock's cube the factor is its cube root, which
the low end of estimates and of a run's interval takes. Trade-off: a cap holds for each kernel, not
for an average over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from yantra.compute.model import Estimates
from yantra.scenario.power import law_of

if TYPE_CHECKING:
    from yantra.compile.kernels import TimedKernels
    from yantra.compile.slowdown import Slowdown
    from yantra.compute.model import Kernels, Reals
    from yantra.compute.power import Power
    from yantra.scenario.types import Device, Machine

_SOONEST = 1 / 3


def capped(
    machine: Machine, device: Device, kernels: Kernels, estimates: Estimates, launched: Slowdown
) -> tuple[Estimates, Reals]:
    """Slower estimates of kernels that would draw more than the cap, and the least middle.

    Launches hide behind slower kernels.
    """
    law = law_of(machine, device)
    assert law is not None
    factor = factors(law, kernels.flops, estimates.middle)
    soon = factor**_SOONEST
    slower = Estimates(estimates.low * soon, estimates.middle * factor, estimates.high * factor)
    soonest = Estimates.exact(estimates.middle * soon)
    return launched.of(kernels, slower), launched.of(kernels, soonest).middle


def factors(law: Power, flops: np.ndarray, ns: np.ndarray) -> np.ndarray:
    """How much longer kernels take, at least 1."""
    seconds = np.maximum(ns, 1e-3) / 1e9
    draw = law._replace(cap_w=None).joules(seconds, seconds, flops) / seconds
    factor: np.ndarray = np.maximum((draw - law.idle_w) / (law.most_w - law.idle_w), 1.0)
    return factor


def soonest(timed: tuple[TimedKernels, ...]) -> float:
    """The share of kernels' time that is left if caps cost as little as they may."""
    took = least = 0.0
    for one in timed:
        took += float(one.estimates.middle @ one.kernels.count)
        least += float(one.soonest @ one.kernels.count)
    return least / took if took else 1.0
