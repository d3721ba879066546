"""Parts of a step's time, factors on them, and how far they may be off.

A step takes T = p P + a A + r R, where P, A and R are our times of products, attention and all else
on its critical path (see predict.py); where the factors p, a and r are from, `effects.py` says.

Where kernels of the very machine were measured (a profile), p and a are 1: what a framework's
products and attention take on this machine is known, and no transfer from other machines is in it.
Then r alone is fitted, with nothing that it is drawn to, and beside it one factor of communication:
they stand for what the profile lacks, kernels that memory bounds and launches, and collectives. On
SimuMax's B200s the first take 3 times what the tables say and the second twice that.

Intervals are conformal: the share of calibration rows that lie closer than the half-width is 90 %,
counted as (n + 1) 0.9 of n (Vovk, Gammerman and Shafer, "Algorithmic learning in a random world",
2005; Lei et al., "Distribution-free predictive inference for regression", JASA 2018).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, exp, hypot, inf, log
from typing import NamedTuple

from yantra.accuracy.rows import Row

COVERED = 0.9
_PULL = 0.002  # toward each other; of a mean error in the logarithm
_MOST_REST = 3.0  # of the logarithms of the factors of the rest and of communication
_ROUND = 0.02  # errors below this count less than in proportion


class Parts(NamedTuple):
    """A row, and the seconds of our prediction for it by what they are spent on.

    `communication` is the part of `rest` that messages and collectives have; 0 without a profile.
    """

    row: Row
    products: float
    attention: float
    rest: float
    communication: float = 0.0

    @property
    def seconds(self) -> float:
        """Return the whole prediction, with every factor 1."""
        return self.products + self.attention + self.rest


class Factors(NamedTuple):
    """What multiplies products, attention and the rest, and communication beside the rest.

    And the rows and the models they rest on.
    """

    products: float = 1.0
    attention: float = 1.0
    rest: float = 1.0
    communication: float = 1.0
    rows: int = 0
    models: int = 0

    def of(self, parts: Parts) -> float:
        """Return the predicted seconds of a row."""
        return (
            self.products * parts.products
            + self.attention * parts.attention
            + self.rest * (parts.rest + (self.communication - 1.0) * parts.communication)
        )


def beside_profile(rows: Sequence[Parts]) -> Factors:
    """Return the factors of the rest and of communication with the least error, from a row or more.

    Rows of one kind of plan do not tell them apart, so they are drawn to each other, a little.
    """
    import numpy as np

    from yantra.accuracy.simplex import simplex

    weigh = _weights(rows)

    def loss(at: np.ndarray) -> float:
        rest, apart = np.clip(at, -_MOST_REST, _MOST_REST)
        factors = Factors(rest=exp(rest), communication=exp(apart))
        off = (log(factors.of(one) / one.row.seconds) for one in rows)
        error = sum(w * hypot(one, _ROUND) for w, one in zip(weigh, off, strict=True))
        return error + _PULL * abs(float(apart))

    found = simplex(loss, simplex(loss, np.array([0.5, 0.0]), 0.5), 0.2)
    rest, apart = (float(one) for one in np.clip(found, -_MOST_REST, _MOST_REST))
    models = len(_counts(rows))
    return Factors(rest=exp(rest), communication=exp(apart), rows=len(rows), models=models)


def _counts(rows: Sequence[Parts]) -> Counter[tuple[str, str]]:
    """Return how many rows there are of each model on each machine."""
    return Counter((one.row.fold, one.row.cluster) for one in rows)


def _weights(rows: Sequence[Parts]) -> list[float]:
    """Return weights that sum to 1: a model of many rows counts less than in proportion."""
    counts = _counts(rows)
    each = [counts[one.row.fold, one.row.cluster] ** -0.5 for one in rows]
    whole = sum(each)
    return [one / whole for one in each]


def half_width(residuals: Sequence[float], covered: float = COVERED) -> float:
    """Return the conformal half-width of logarithms of measured / predicted; inf of too few."""
    sizes = sorted(abs(one) for one in residuals)
    rank = ceil((len(sizes) + 1) * covered)
    return sizes[rank - 1] if rank <= len(sizes) else inf


def residual(factors: Factors, parts: Parts) -> float:
    """Return the logarithm of measured / predicted."""
    return log(parts.row.seconds / factors.of(parts))
