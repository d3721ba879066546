"""How far a user's own steps move the factors of a stack: as far as they agree.

Of n steps e is the logarithm of measured / run with the stack, and H the shares of products,
attention and the rest in each run: by how much its logarithm grows with those of the factors. The
moves d of the three logarithms are normal around 0, with covariance C = T^2 11' + diag(U^2): T for
what machine and framework do to all three, U for what they do to one. What is left of a step is
normal with deviation s, so

    d = C H' (H C H' + s^2 I)^-1 e

is the posterior mean (Lindley and Smith, "Bayes estimates for the linear model", JRSS B, 1972). Of
n steps of equal shares h it is a weight on the mean of e,

    w = n / (n + s^2 / t^2),  t^2 = h C h'

so steps that agree move the stack fully and steps that scatter move it less. s is its most probable
value on a logarithmic scale, where s^2 is before any step scaled inverse chi-squared of `NU`
degrees of freedom around S0^2 (Gelman et al., "Bayesian data analysis", section 2.6): one step
alone does not tell its scatter. The 90 % interval is that of one more step of the mean shares:
sqrt(s^2 + h D h') times Student's t of NU + n - 1 degrees, with the covariance D of what is not
known of d.

Trade-off: the deviations are the same for all users. They are round numbers: frameworks differ by a
quarter, attention kernels of three years by up to 3, launches and fabrics by a third, and steps of
one known framework scatter by 6 %. Beside measured kernels of the very machine only the rest moves,
by far: that of one machine takes 3 times what tables say (see `fit.py`).
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

T = 0.25
U = (0.1, 0.5, 0.3)
U_MEASURED = (0.0, 0.0, 1.5)
"""Those beside measured kernels of the very machine, where T is 0."""
S0 = 0.06
NU = 3.0
_SCATTERS = np.geomspace(0.002, 2.0, 241)


class Moved(NamedTuple):
    """By what the logarithms of the factors change.

    `scatter` is s, `weight` is w for the mean shares, and `interval` half of the 90 % interval of
    the logarithm of another step's time.
    """

    moves: tuple[float, ...]
    scatter: float
    weight: float
    interval: float


def moved(
    off: Sequence[float], shares: Sequence[Sequence[float]], *, is_measured: bool = False
) -> Moved:
    """Return the moves that steps ask for; `off` is e, `shares` are the rows of H, at least one.

    `is_measured` is whether the kernels of the very machine were.
    """
    e, h = np.array(off), np.array(shares)
    between = covariance(is_measured)
    seen = h @ between @ h.T
    s = _scatter(e, seen)
    gain = between @ h.T @ np.linalg.inv(seen + s**2 * np.eye(len(e)))
    left = between - gain @ h @ between
    mean = h.mean(axis=0)
    before, after = (max(float(mean @ one @ mean), 0.0) for one in (between, left))
    weight = 1.0 - after / before if before else 0.0
    width = student(NU + len(e) - 1.0) * sqrt(s**2 + after)
    return Moved(tuple(float(one) for one in gain @ e), s, weight, width)


def covariance(is_measured: bool = False) -> NDArray[np.float64]:
    """Return C."""
    own = np.diag(np.square(np.array(U_MEASURED if is_measured else U)))
    return own + (0.0 if is_measured else T**2)


def student(degrees: float) -> float:
    """Return the half-width that holds 90 % of Student's t; to 1 % from 3 degrees.

    Abramowitz and Stegun, "Handbook of mathematical functions", 26.7.5.
    """
    z = 1.644854
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / degrees + second / degrees**2 + third / degrees**3


def _scatter(e: NDArray[np.float64], seen: NDArray[np.float64]) -> float:
    """Return the s at which the density of e and of log s is the highest.

    In the directions of the eigenvectors of `seen` the parts of e are independent.
    """
    of, directions = np.linalg.eigh(seen)
    along = (directions.T @ e) ** 2
    s2 = np.square(_SCATTERS)
    whole = np.maximum(of, 0.0) + s2[:, None]
    density = -0.5 * (along / whole + np.log(whole)).sum(axis=1)
    density -= 0.5 * NU * (np.log(s2) + S0**2 / s2)
    return float(_SCATTERS[density.argmax()])
