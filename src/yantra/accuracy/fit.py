"""Factors of a stack from measured steps, and how far they may be off.

A step takes T = p P + a A + r R, where P, A and R are our times of products, attention and all else
on its critical path (see predict.py). The factors p, a and r are those of least error in the
logarithm, robust against single rows, with a pull of a and r toward p where the rows do not tell
them apart. Each is then drawn to what less specific rows say, and those to 1: with the number g
of different models and machines among the rows, its logarithm is (g fitted + prior) / (g + 1).

Intervals are conformal: the share of calibration rows that lie closer than the half-width is 90 %,
counted as (n + 1) 0.9 of n (Vovk, Gammerman and Shafer, "Algorithmic learning in a random world",
2005; Lei et al., "Distribution-free predictive inference for regression", JASA 2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, exp, inf, log
from typing import NamedTuple

from yantra.accuracy.rows import Row

COVERED = 0.9
_PULL = 0.02  # toward each other and, ten times weaker, toward 1; of a mean error in the logarithm
_ROUND = 0.02  # errors below this count less than in proportion


class Parts(NamedTuple):
    """A row, and the seconds of our prediction for it by what they are spent on."""

    row: Row
    products: float
    attention: float
    rest: float

    @property
    def seconds(self) -> float:
        """Return the whole prediction, with every factor 1."""
        return self.products + self.attention + self.rest


class Factors(NamedTuple):
    """What multiplies products, attention and the rest; the rows and the models they rest on."""

    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    rows: int = 0
    models: int = 0

    def of(self, parts: Parts) -> float:
        """Return the predicted seconds of a row."""
        return (
            self.products * parts.products
            + self.attention * parts.attention
            + self.rest * parts.rest
        )


def fitted(rows: Sequence[Parts], prior: Factors | None = None) -> Factors:
    """Return the factors of some rows, drawn to `prior` or 1; of no rows those themselves."""
    drawn_to = prior or Factors()
    if not rows:
        return drawn_to
    import numpy as np

    from yantra.collectives.protocols import simplex

    keys = [(one.row.fold, one.row.cluster) for one in rows]
    counts = Counter(keys)
    weights = np.array([counts[key] ** -0.5 for key in keys])
    weights /= weights.sum()
    parts = np.array([[one.products, one.attention, one.rest] for one in rows])
    measured = np.array([one.row.seconds for one in rows])

    def loss(at: np.ndarray) -> float:
        off = np.log(parts @ np.exp(at) / measured)
        error = float(np.sum(weights * np.sqrt(off * off + _ROUND**2)))
        apart = abs(at[1] - at[0]) + abs(at[2] - at[0])
        return error + _PULL * float(apart + 0.1 * np.abs(at).sum())

    start = np.full(3, float(np.median(np.log(measured / parts.sum(axis=1)))))
    found = simplex(loss, simplex(loss, start, 0.2), 0.05)
    models = len(counts)
    power = models / (models + 1)
    products, attention, rest = (
        exp(float(one) * power) * other ** (1.0 - power)
        for one, other in zip(found, drawn_to[:3], strict=True)
    )
    return Factors(products, attention, rest, len(rows), models)


def half_width(residuals: Sequence[float], covered: float = COVERED) -> float:
    """Return the conformal half-width of logarithms of measured / predicted; inf of too few."""
    sizes = sorted(abs(one) for one in residuals)
    rank = ceil((len(sizes) + 1) * covered)
    return sizes[rank - 1] if rank <= len(sizes) else inf


def residual(factors: Factors, parts: Parts) -> float:
    """Return the logarithm of measured / predicted."""
    return log(parts.row.seconds / factors.of(parts))
