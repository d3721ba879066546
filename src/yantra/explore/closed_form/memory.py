"""Bytes of the worst device of each plan: what is always there, and activations in flight.

Weights, gradients and the optimizer's state are there by shards; activations by the moments of
`layouts.py`, each with the most that the backward pass has then. It is the peak of the step itself
(`yantra.workloads.training.memory`), but for the padding of small shards. Where gradients, or
weights, too, are sharded (ZeRO-2, ZeRO-3) what is whole while a pass works comes on top.

Trade-off: that is counted at the beginning of a backward pass, and of the buckets of the first
chunk as if each were a layer or a bucket alone.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from yantra.explore.closed_form.layouts import Holder
    from yantra.explore.closed_form.passes import Part


class Fixed(NamedTuple):
    """Bytes that lie on a device for each element of dense weights, of experts, and of tables."""

    dense: np.ndarray
    expert: np.ndarray
    table: float


class Whole(NamedTuple):
    """Bytes of each element that is whole while a pass works on it, 0 where it always is.

    `gradients` of the weights of a pass, and of a layer at a time `layer_gradients` and `weights`.
    `least` elements a bucket has, none where nothing is moved while a device computes, nor gathered
    ahead. `experts` says whether experts are shared, too.
    """

    gradients: np.ndarray
    layer_gradients: np.ndarray
    weights: np.ndarray
    least: np.ndarray
    experts: np.ndarray


def worst(
    front: Part,
    kinds: list[Part],
    tail: Part,
    holders: list[Holder],
    fixed: Fixed,
    whole: Whole | None,
) -> np.ndarray:
    """Return the most that any device of each plan needs, in bytes; parts are by plan."""
    found = np.zeros_like(fixed.dense)
    for one in holders:
        need = activations(front, kinds, tail, one, whole)
        for name, factor in (("dense", fixed.dense), ("expert", fixed.expert)):
            elements = _elements(name, front, kinds, tail, one)
            if name == "dense":
                # A device with both ends of the model holds a tied embedding once.
                elements -= np.where(one.is_first & one.is_last, tail.tied[one.rows], 0.0)
            need += elements * factor[one.rows]
        need += _elements("table", front, kinds, tail, one) * fixed.table
        found[one.rows] = np.maximum(found[one.rows], need)
    return found


def _elements(name: str, front: Part, kinds: list[Part], tail: Part, one: Holder) -> np.ndarray:
    terms = [n * getattr(kind, name)[one.rows] for n, kind in zip(one.layers, kinds, strict=True)]
    ends = ((front, one.is_first), (tail, one.is_last))
    terms += [np.where(there, getattr(end, name)[one.rows], 0.0) for end, there in ends]
    found: np.ndarray = reduce(np.add, terms)
    return found


def activations(
    front: Part, kinds: list[Part], tail: Part, one: Holder, whole: Whole | None
) -> np.ndarray:
    """Return the most bytes of activations, and of what is whole for a time, on a device."""
    moments = len(one.fronts)
    ends = np.append(one.begins[1:], moments)
    row = one.rows.repeat(ends - one.begins)
    saves = [kind.saves[row] for kind in kinds]
    held = reduce(np.add, (n * of for n, of in zip(one.held, saves, strict=True)))
    held = held + one.fronts * front.saves[row] + one.tails * tail.saves[row]
    peaks = (
        np.where(n > 0, kind.peak[row], 0.0) for n, kind in zip(one.within, kinds, strict=True)
    )
    of_layers, of_tail = reduce(np.maximum, peaks), tail.peak[row]
    if whole is not None:
        beside = _beside(front, kinds, tail, one, whole, row)
        of_layers, of_tail = of_layers + beside.layers, of_tail + beside.tail
    # The pass begins with the tail; what that had saved is gone when layers follow.
    at_tail = np.maximum(of_tail, of_layers - tail.saves[row])
    found = held + np.where(one.at_tail, at_tail, of_layers)
    if whole is not None:
        done = reduce(np.add, (n * of for n, of in zip(one.within, saves, strict=True)))
        found = np.maximum(found, np.where(one.at_front, held - done + beside.front, 0.0))
    most: np.ndarray = np.maximum.reduceat(found, one.begins)
    return most


class _Beside(NamedTuple):
    """Bytes that are whole beside activations while layers, the tail, or the front work."""

    layers: np.ndarray
    tail: np.ndarray
    front: np.ndarray


def _beside(
    front: Part, kinds: list[Part], tail: Part, one: Holder, whole: Whole, row: np.ndarray
) -> _Beside:
    shared = whole.experts[row]

    def size(part: Part) -> np.ndarray:
        found: np.ndarray = part.dense[row] + np.where(shared, part.expert[row], 0.0)
        return found

    def most(name: str) -> np.ndarray:
        pairs = zip(one.within, kinds, strict=True)
        return reduce(np.maximum, (np.where(n > 0, getattr(k, name)[row], 0.0) for n, k in pairs))

    dense, expert = most("dense"), np.where(shared, most("expert"), 0.0)
    largest = dense + expert
    every = reduce(np.add, (n * size(kind) for n, kind in zip(one.within, kinds, strict=True)))
    every = every + np.where(one.at_tail, size(tail), 0.0)
    of_front = np.where(one.at_front, size(front), 0.0)
    gradients, layer_gradients, weights = (of[row] for of in whole[:3])
    # A bucket is cut anywhere: half a one more is whole in the mean, and one behind the tail.
    usual = whole.least[row] + kinds[-1].dense_grain[row]
    cut = np.minimum(every + of_front, largest + usual / 2)
    reduced = gradients * np.where(one.at_front, cut, every)
    at_tail = np.minimum(every + of_front, size(tail) + usual)
    reduced_at_tail = gradients * np.where(one.at_front, at_tail, every)
    # The unit ahead of the experts of a layer are its dense weights, so of these there are two.
    several, ahead = reduce(np.add, one.within) > 1, np.isfinite(whole.least[row])
    gathered = weights * (largest + np.where(several & ahead, dense, 0.0))
    of_tail = layer_gradients * size(tail) + weights * (size(tail) + np.where(ahead, dense, 0.0))
    return _Beside(
        reduced + gathered + layer_gradients * largest,
        reduced_at_tail + of_tail,
        layer_gradients * of_front + gradients * np.minimum(of_front, cut),
    )
