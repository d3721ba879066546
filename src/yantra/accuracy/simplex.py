"""Where a function of some numbers is least, without its gradient.

Trade-off: hundreds of calls, so it is for few numbers and losses that have kinks.
Source: Nelder and Mead, "A simplex method for function minimization", Computer Journal 7 (1965).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def simplex(loss: Callable[[Reals], float], start: Reals, step: float, turns: int = 4000) -> Reals:
    """Return where a function is least near `start`."""
    size = len(start)
    at = np.vstack([start, start + step * np.eye(size)])
    values = np.array([loss(one) for one in at])
    for _ in range(turns):
        order = np.argsort(values, kind="stable")
        at, values = at[order], values[order]
        if values[-1] - values[0] < 1e-7:
            break
        centre = at[:-1].mean(axis=0)
        away = centre - at[-1]
        moved = centre + away
        value = loss(moved)
        if value < values[0]:
            further = centre + 2.0 * away
            beyond = loss(further)
            if beyond < value:
                moved, value = further, beyond
        elif value >= values[-2]:
            moved = centre - 0.5 * away
            value = loss(moved)
            if value >= values[-1]:
                at[1:] = at[0] + 0.5 * (at[1:] - at[0])
                values[1:] = [loss(one) for one in at[1:]]
                continue
        at[-1], values[-1] = moved, value
    return np.asarray(at[np.argmin(values)])
