"""A measured table made smooth: corrections to a formula at any point, and how far they reach.

A table has rows for some keys (the sides of a weight, the heads of an attention) and a grid of
sizes for each. What a formula gets wrong is kept as the logarithm of measured / formula. Between
grid points it is interpolated linearly in log2 of the sizes; between keys by Gaussian process
regression, which follows near keys closely and falls back to the mean of all far from any.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1; the
covariance is a product of Matern-3/2 ones, their eq. 4.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]

_STEPS = 2048.0
_LOWEST = 2.0


def packed(us: Reals) -> NDArray[np.uint16]:
    """Return microseconds in 16 bits: 2048 steps an octave from 0.25 us (0.03 %), 0 for none."""
    codes = np.rint((np.log2(us) + _LOWEST) * _STEPS)
    return np.where(np.isfinite(us), np.clip(codes, 1, 65535), 0).astype(np.uint16)


def unpacked(codes: NDArray[np.uint16]) -> Reals:
    """Return the natural logarithm of microseconds, NaN where there is none."""
    logs = (codes.astype(np.float64) / _STEPS - _LOWEST) * np.log(2.0)
    known: Reals = np.where(codes == 0, np.nan, logs)
    return known


def matern(distance: Reals, length: float) -> Reals:
    """Return the Matern-3/2 covariance of distances."""
    scaled = np.sqrt(3.0) / length * distance
    made: Reals = (1 + scaled) * np.exp(-scaled)
    return made


def weights(covariance: Reals, across: Reals, noise: float) -> Reals:
    """Return what each known key adds to each asked one: across x (covariance + noise)^-1.

    `covariance` is known x known, `across` asked x known.
    """
    whole = covariance + noise * np.eye(len(covariance))
    solved: Reals = np.asarray(np.linalg.solve(whole, across.T).T, np.float64)
    return solved


def regressed(values: Reals, covariance: Reals, across: Reals, noise: float) -> Reals:
    """Return `values` (known keys x anything) at the asked keys, by the weights above.

    Where a key lacks a value, the mean of the others stands for it.
    """
    flat = values.reshape(len(values), -1)
    known = np.isfinite(flat)
    count = known.sum(axis=0)
    mean = np.where(known, flat, 0.0).sum(axis=0) / np.maximum(count, 1)
    centred = np.where(known, flat - mean, 0.0)
    made: Reals = weights(covariance, across, noise) @ centred + mean
    shaped: Reals = made.reshape(len(across), *values.shape[1:])
    return shaped


class Place(NamedTuple):
    """Where points are on an axis: between `low` and `low` + 1, `part` of the way.

    `beyond` is how far outside the axis they are, in its unit.
    """

    low: Wholes
    part: Reals
    beyond: Reals


def place_on(axis: Reals, points: Reals) -> Place:
    """Return where points are on a rising axis; those outside are at its end."""
    inside = np.minimum(np.maximum(points, axis[0]), axis[-1])
    low = np.searchsorted(axis, inside, side="right") - 1
    np.minimum(low, len(axis) - 2, out=low)
    start = axis[low]
    part = (inside - start) / (axis[low + 1] - start)
    return Place(low, part, np.abs(points - inside))


def interpolated(grid: Reals, first: Wholes | None, places: Sequence[Place]) -> Reals:
    """Return the grid at points: `first` chooses along axis 0, `places` are on the others."""
    flat = grid.reshape(-1)
    shape = grid.shape
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    start = np.zeros(len(places[0].low), np.int64)
    if first is not None:
        start += first * strides[0]
        strides = strides[1:]
    for place, stride in zip(places, strides, strict=True):
        start += place.low * stride
    return _corner(flat, start, [place.part for place in places], strides)


def _corner(flat: Reals, start: Wholes, parts: list[Reals], strides: list[int]) -> Reals:
    """Return the multilinear interpolation of the cells that begin at `start`."""
    if not parts:
        value: Reals = flat[start]
        return value
    near = _corner(flat, start, parts[1:], strides[1:])
    far = _corner(flat, start + strides[0], parts[1:], strides[1:])
    far -= near
    far *= parts[0]
    far += near
    return far


def rising(values: Reals, most: float) -> Reals:
    """Return values that fall along no axis: half way between what came before and what follows.

    The largest value so far and the least from here on both rise; their mean is the rising function
    whose largest error is least (Barlow et al., "Statistical inference under order restrictions",
    1972). So more work does not take less by an accident of a measurement. What would move by more
    than `most` stays: it falls in the measurements.
    """
    made = values
    for axis in range(values.ndim):
        before = np.maximum.accumulate(made, axis=axis)
        after = np.flip(np.minimum.accumulate(np.flip(made, axis), axis=axis), axis)
        made = np.where(after - before < -2 * most, made, (before + after) / 2)
    return made
