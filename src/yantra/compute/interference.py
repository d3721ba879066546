"""How much slower kernels are while collectives run beside them, for whole columns.

Of U units (SMs, compute units) collectives have s, and of the memory's bandwidth B they want c.
A kernel that moves Q bytes in T alone, so wants w = Q / T of it, takes

    max(T (w < 0.8 B ? U / (U - s) : 1),  Q / b),  b what max-min fairness leaves it of B

times as a run takes with `collectives.interference` (native/memory/local_bandwidth.hpp), where
several kernels may share what is left. Collectives keep their units whatever runs beside them, as
their blocks stay until the end; of memory they get less where kernels want it.

That is for kernels of many waves of blocks. One of few may need a wave more, at worst
ceil(n / (U - s)) / ceil(n / U) times as long with n blocks: `high` of an interval whose `low` is
the law. Nothing here is fitted. Sources: the roofline of Williams et al., CACM 2009; waves:
NVIDIA, "Matrix Multiplication Background User's Guide" (2023), section 4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Amount = float | Reals

MEMORY_BOUND = 0.8
"""The share of the memory's bandwidth from which on a kernel waits for bytes and not for units."""


class Slowdown(NamedTuple):
    """Factors on the time of kernels: `low` of many waves, `high` where blocks need a wave more."""

    low: Reals
    high: Reals


def slowdown(
    *,
    units: Amount,
    taken: Amount,
    wanted: Amount = 0.0,
    bandwidth: Amount = 1.0,
    taken_bandwidth: Amount = 0.0,
    blocks: Amount = 0.0,
) -> Slowdown:
    """Return by what factors kernels are slower while collectives take `taken` of `units`.

    `wanted`, `bandwidth` and `taken_bandwidth` are in one unit, as are all rates; `blocks` of a
    kernel, as many as are resident at once to a unit, are 0 where they are not known: then both
    factors are the law's.
    """
    some = (units, taken, wanted, bandwidth, taken_bandwidth, blocks)
    u, s, w, b, c, n = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in some))
    left = np.maximum(b - np.minimum(c, np.maximum(b - w, b / 2)), 0)
    by_memory = np.where(w > left, w / np.maximum(left, 1e-300), 1.0)
    bound = w >= MEMORY_BOUND * b
    low = np.maximum(by_memory, np.where(bound, 1.0, u / (u - s)))
    waves = np.ceil(n / (u - s)) / np.maximum(np.ceil(n / u), 1)
    high = np.where(bound | (n == 0), low, np.maximum(low, waves))
    return Slowdown(low, high)
