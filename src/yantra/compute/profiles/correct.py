"""A profile at work: estimates from tables become those of the machine that was measured.

    time = table's time x exp(what measured kernels nearby say it is off by)

at least an empty kernel's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra.base.errors import ConfigError
from yantra.compute.families import DEFAULT, family_of
from yantra.compute.model import Estimates, Kernels
from yantra.compute.profiles.near import FAMILIES, Near, learned, off, places_of
from yantra.compute.profiles.types import Profile

UNLIKE, ANOTHER = 1.8, 4.0
"""Machines of one name differ by up to a third. A profile this many times slower or faster than the
tables is said to be unlike them, or refused as another machine's.
"""

_LONG_NS = 2e4  # shorter kernels are launches

Estimator = Callable[[Kernels], Estimates]


class Correction(NamedTuple):
    by_family: tuple[tuple[str, Near], ...]
    launch_ns: float
    slower: float
    """Median ratio of its kernels to the tables."""

    def of(self, kernels: Kernels, made: Estimates) -> Estimates:
        """Estimates as the profile corrects them."""
        columns = [column.copy() for column in made]
        families = families_of(kernels)
        for family, near in self.by_family:
            rows = families == family
            if not rows.any():
                continue
            some = kernels.take(rows)
            log_ratio, width, unknown = off(near, places_of(some, family))
            wider = (made.high[rows] / np.maximum(made.middle[rows], 1e-9)) ** unknown
            middle = made.middle[rows] * np.exp(log_ratio)
            half = np.exp(width) * wider
            for column, part in zip(columns, (middle / half, middle, middle * half), strict=True):
                column[rows] = part
        return Estimates(*(np.maximum(column, self.launch_ns) for column in columns))


def families_of(kernels: Kernels) -> NDArray[np.str_]:
    """The family of each kernel."""
    known = family_of()
    names = np.array([known.get(name, DEFAULT) for name in kernels.op_classes])
    made: NDArray[np.str_] = names[kernels.op_class]
    return made


def correction_of(profile: Profile, estimate: Estimator, name: str = "profile") -> Correction:
    """Raises ConfigError, at the profile's `name`, for another machine's."""
    rows = profile.rows
    kernels, us = rows.kernels, rows.us
    tables_ns = np.maximum(estimate(kernels).middle, 1e-9)
    log_ratio = np.log(us * 1e3 / tables_ns)
    families = families_of(kernels)
    known = []
    for family in FAMILIES:
        own = families == family
        if own.any():
            places = places_of(kernels.take(own), family)
            known.append((family, learned(places, log_ratio[own])))
    long = log_ratio[tables_ns > _LONG_NS]
    slower = float(np.exp(np.median(long))) if len(long) else 1.0
    if not 1 / ANOTHER < slower < ANOTHER:
        problem = f"its kernels take {slower:.2g} times as long as the tables of this device say"
        raise ConfigError(name, f"{profile.device}: {problem}: it is of another machine")
    return Correction(tuple(known), rows.launch_us * 1e3, slower)
