"""A measured table made smooth: corrections to a formula at any point, and how far they reach.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1; a
product of Matern-3/2 covariances, their eq. 4.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Wholes = NDArray[np.int64]

_STEPS = 2048.0
_LOWEST = 2.0
_KEPT = 64
_SOLVED: dict[bytes, Reals] = {}
"""Weights by what they were solved for; the same keys are asked for again and again."""
_DIGITS = 9  # of a logarithm: a millionth of a step above


def packed(us: Reals) -> NDArray[np.uint16]:
    """Microseconds in 16 bits: 2048 steps an octave from 0.25 us (0.03 %), 0 for none."""
    codes = np.rint((np.log2(us) + _LOWEST) * _STEPS)
    return np.where(np.isfinite(us), np.clip(codes, 1, 65535), 0).astype(np.uint16)


def unpacked(codes: NDArray[np.uint16]) -> Reals:
    logs = (codes.astype(np.float64) / _STEPS - _LOWEST) * np.log(2.0)
    known: Reals = np.where(codes == 0, np.nan, logs)
    return known


def matern(distance: Reals, length: float) -> Reals:
    """The Matern-3/2 covariance of distances."""
    scaled = np.sqrt(3.0) / length * distance
    made: Reals = (1 + scaled) * np.exp(-scaled)
    return made


def weights(covariance: Reals, across: Reals, noise: float) -> Reals:
    """Weights of known keys for asked ones: across x (covariance + noise)^-1.

    `covariance` is known x known, `across` asked x known.
    """
    key = _key(covariance, across, noise)
    if key not in _SOLVED:
        if len(_SOLVED) >= _KEPT:
            _SOLVED.clear()
        whole = covariance + noise * np.eye(len(covariance))
        solved: Reals = np.asarray(np.linalg.solve(whole, across.T).T, np.float64)
        solved.flags.writeable = False
        _SOLVED[key] = solved
    return _SOLVED[key]


def _key(covariance: Reals, across: Reals, noise: float) -> bytes:
    made = blake2b(repr((covariance.shape, across.shape, noise)).encode(), digest_size=16)
    for part in (covariance, across):
        made.update(np.ascontiguousarray(part).data)
    return made.digest()


def regressed(values: Reals, covariance: Reals, across: Reals, noise: float) -> Reals:
    flat = values.reshape(len(values), -1)
    known = np.isfinite(flat)
    count = known.sum(axis=0)
    mean = np.where(known, flat, 0.0).sum(axis=0) / np.maximum(count, 1)
    centred = np.where(known, flat - mean, 0.0)
    # Rounded, as the last bits of BLAS depend on its number of threads.
    made: Reals = np.round(weights(covariance, across, noise) @ centred + mean, _DIGITS)
    shaped: Reals = made.reshape(len(across), *values.shape[1:])
    return shaped


class Place(NamedTuple):
    """`beyond` is how far outside the axis, in its unit."""

    low: Wholes
    part: Reals
    beyond: Reals


def place_on(axis: Reals, points: Reals) -> Place:
    inside = np.minimum(np.maximum(points, axis[0]), axis[-1])
    low = np.searchsorted(axis, inside, side="right") - 1
    np.minimum(low, len(axis) - 2, out=low)
    start = axis[low]
    part = (inside - start) / (axis[low + 1] - start)
    return Place(low, part, np.abs(points - inside))


def interpolated(grid: Reals, first: Wholes | None, places: Sequence[Place]) -> Reals:
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
    """Values that fall along no axis: the mean of the largest so far and the least from here on.

    The rising function with the least largest error (Barlow et al., "Statistical inference under
    order restrictions", 1972).
    """
    made = values
    for axis in range(values.ndim):
        before = np.maximum.accumulate(made, axis=axis)
        after = np.flip(np.minimum.accumulate(np.flip(made, axis), axis=axis), axis)
        made = np.where(after - before < -2 * most, made, (before + after) / 2)
    return made
