"""How much slower kernels are while collectives run beside them, for whole columns.

Collectives have s of U units (SMs, compute units), and want c of the memory's bandwidth B. A kernel
that moves Q bytes in T alone, so wants w = Q / T, takes

    max(T (w < 0.8 B ? U / (U - s) : 1),  Q / b),  b what max-min fairness leaves it of B

Collectives' blocks keep their units; their memory shrinks.

Sources: Williams et al., CACM 2009 (roofline); NVIDIA, "Matrix Multiplication Background User's
Guide" (2023), section 4 (waves).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Amount = float | Reals

MEMORY_BOUND = 0.8
"""Share of memory's bandwidth above which a kernel waits for bytes, not units."""


class Slowdown(NamedTuple):
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
    """`wanted`, `bandwidth` and `taken_bandwidth` share one unit; `blocks` of a kernel, in
    residents per unit, are 0 if unknown: then both factors are the law's.
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
