"""Tables of a function of one or two counts, between whose knots lines are near enough.

A curve is refined where the function is off the line between two knots, down to neighbours, as
products step with their tiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.serving.iteration.walk import Work

_OCTAVE = 0.25
_WIDE, _TILED = 2, 1 << 14
"""Up to which a step of a tile can matter."""
_CUTS = (2, 4, 4, 4)
"""Into how many parts intervals are cut that may be off, round by round."""


class Curve(NamedTuple):
    """Columns at knots: `whole_ns` rises; `ns` has a row for each part."""

    knots: np.ndarray
    whole_ns: np.ndarray
    ns: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray
    ran: np.ndarray


class Grid(NamedTuple):
    first: np.ndarray
    second: np.ndarray
    whole_ns: np.ndarray
    ns: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray


def knots_to(
    most: int, least: int = 1, tile: int = 0, behind: int = 0, tiled: int = _TILED
) -> np.ndarray:
    """Whole numbers from `least` to `most`, near each other if small, and both sides of multiples
    of `tile`.
    """
    octaves = np.arange(0.0, np.log2(max(most, 2)) + 1, _OCTAVE)
    some = [np.arange(5), np.round(np.exp2(octaves))]
    if tile:
        near = np.arange(tile, min(most, tiled) + tile, tile)
        far = np.arange(tiled, min(most, _TILED) + tiled, _WIDE * tile)
        ends = np.concatenate([near, far]) - behind
        some += [ends, ends + 1]
    made = np.unique(np.concatenate([*some, [least, most]])).astype(np.int64)
    return made[(made >= least) & (made <= most)]


def curve_of(function: Callable[[np.ndarray], Work], knots: np.ndarray, tolerance: float) -> Curve:
    work = function(knots)
    waiting = np.diff(knots) > 1  # intervals that nobody has looked into
    for cuts in _CUTS:
        left, right = knots[:-1][waiting], knots[1:][waiting]
        inside = _inside(left, right, cuts)
        if not len(inside):
            break
        found = function(inside)
        line = np.interp(inside, knots, work.whole_ns)
        off = inside[np.abs(found.whole_ns - line) > tolerance * found.whole_ns]
        knots, order = _merged(knots, inside)
        both = [np.concatenate(pair, axis=-1) for pair in zip(work, found, strict=True)]
        work = type(work)(*(one[..., order] for one in both))
        is_off = np.isin(knots, off)
        waiting = (is_off[:-1] | is_off[1:]) & (np.diff(knots) > 1)
    rising = _rising(work.whole_ns)
    return Curve(knots, rising, _scaled(work.ns, rising), work.flops, work.bytes, work.ran)


def _inside(left: np.ndarray, right: np.ndarray, cuts: int) -> np.ndarray:
    parts = [(left * (cuts - at) + right * at) // cuts for at in range(1, cuts)]
    new = [one[(one > left) & (one < right)] for one in parts]
    return np.unique(np.concatenate(new))


def _merged(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    whole = np.concatenate([one, other])
    order = np.argsort(whole, kind="stable")
    return whole[order], order


def grid_of(
    function: Callable[[np.ndarray, np.ndarray], Work], first: np.ndarray, second: np.ndarray
) -> Grid:
    """The grid of a function of two counts."""
    one, two = (part.ravel() for part in np.meshgrid(first, second, indexing="ij"))
    work = function(one, two)
    shape = len(first), len(second)
    ns = work.ns.reshape(-1, *shape)
    rising = _rising(ns.sum(axis=0))
    flops, moved = work.flops.reshape(shape), work.bytes.reshape(shape)
    return Grid(first, second, rising, _scaled(ns, rising), flops, moved)


def _rising(ns: np.ndarray) -> np.ndarray:
    above, below = ns, np.flip(ns)
    for axis in range(ns.ndim):
        above = np.maximum.accumulate(above, axis=axis)
        below = np.minimum.accumulate(below, axis=axis)
    made: np.ndarray = (above + np.flip(below)) / 2
    return made


def _scaled(ns: np.ndarray, whole: np.ndarray) -> np.ndarray:
    sums = ns.sum(axis=0)
    made: np.ndarray = ns * np.divide(whole, sums, out=np.ones_like(sums), where=sums > 0)
    made[0] += np.where(sums > 0, 0.0, whole)
    return made
