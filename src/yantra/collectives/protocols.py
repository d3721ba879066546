"""How long a collective of NCCL takes, as the best of its three protocols; fitted to measurements.

    T(n, S) = min over LL, LL128, Simple of  a + h log2(n) + f (n - 1) / n S / b(S)

with f = 2 for all-reduce and 1 else, and for Simple alone b(S) = b / sqrt(1 + s / S): ten numbers
for a system and a collective. LL sends a flag with every 4 bytes, LL128 one with every 120, Simple
waits for whole slices: each is best at other sizes. S is in bytes as nccl-tests count them: of an
all-gather what all ranks have together, else what one has.

Over nodes the same with the number of nodes in place of n under the logarithm, and b the bandwidth
that a rank's adapters have together with those of its node-mates, or that of the links within a
node if that is less.

Trade-off: it says nothing of rings, trees and channels, so it holds for the machine that was
measured; another site of the same machine differs by 20 to 30 %. Hu et al., "Demystifying NCCL",
arXiv 2507.04786 (2025), describes the protocols. Fits take the logarithm of the time, so that
a small collective counts as much as a large one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Reals = NDArray[np.float64]

FACTORS = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
"""Bytes on the wire of a rank, as multiples of (n - 1) / n S; nccl-tests, PERFORMANCE.md."""


class Protocols(NamedTuple):
    """The ten numbers, times in microseconds, bandwidths in bytes per microsecond, `s` in bytes."""

    a_ll: float
    h_ll: float
    b_ll: float
    a_ll128: float
    h_ll128: float
    b_ll128: float
    a_simple: float
    h_simple: float
    b_simple: float
    s: float


# Where a fit starts and what it is drawn to where nothing is measured: launch and steps of some
# microseconds, and an NVLink of 250 GB/s of which LL reaches a twelfth and LL128 a third.
_START = Protocols(6, 1, 2e4, 8, 1, 8e4, 15, 2, 2.5e5, 4e6)
_ROUND = 0.03  # residuals below this count less than in proportion
_DRAWN = 1e-4


def time_us(given: Protocols, hops: Reals, bytes_: Reals, wire: Reals) -> Reals:
    """Return the times in microseconds; `hops` are the log2, `wire` the bytes that a rank sends."""
    import numpy as np

    q = given
    half = np.sqrt(1.0 + q.s / np.maximum(bytes_, 1.0))
    ll = q.a_ll + q.h_ll * hops + wire / q.b_ll
    ll128 = q.a_ll128 + q.h_ll128 * hops + wire / q.b_ll128
    simple = q.a_simple + q.h_simple * hops + wire / q.b_simple * half
    return np.minimum(np.minimum(ll, ll128), simple)


def fitted(hops: Reals, bytes_: Reals, wire: Reals, us: Reals, starts: int = 4) -> Protocols:
    """Return the numbers that fit measured times best, from several starts; the same every time."""
    import numpy as np

    start = np.log(np.array(_START))

    def loss(at: Reals) -> float:
        ours = time_us(Protocols(*np.exp(at)), hops, bytes_, wire)
        off = np.log(ours / us)
        drawn = _DRAWN * float(np.sum((at - start) ** 2))
        return float(np.mean(np.sqrt(off * off + _ROUND**2))) + drawn

    rng = np.random.default_rng(0)
    best: tuple[float, Reals] | None = None
    for number in range(starts):
        first = start if number == 0 else start + rng.normal(0.0, 0.7, len(start))
        found = simplex(loss, simplex(loss, first, 0.5), 0.2)
        value = loss(found)
        if best is None or value < best[0]:
            best = (value, found)
    assert best is not None
    return Protocols(*(float(value) for value in np.exp(best[1])))


def simplex(loss: Callable[[Reals], float], start: Reals, step: float, turns: int = 4000) -> Reals:
    """Return where a function is least near `start` (Nelder and Mead, Computer Journal 1965)."""
    import numpy as np

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
