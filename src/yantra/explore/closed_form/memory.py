"""Bytes of each plan's worst device: persistent state, and activations in flight.

Weights, gradients and optimizer state are sharded; activations follow the moments of `layouts.py`,
each with the backward pass's peak. ZeRO-2 and ZeRO-3 add what is whole during a pass.

Trade-off: that is counted at a backward pass's start, and each first-chunk bucket as a layer or a
bucket alone.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from yantra.explore.closed_form.layouts import Holder
    from yantra.explore.closed_form.passes import Part


class Fixed(NamedTuple):
    """Bytes a device keeps for each element of dense weights, experts, and tables.

    Narrow ones have that many more; `unused` is for gradients that products give out.
    """

    dense: np.ndarray
    expert: np.ndarray
    table: float
    narrow: np.ndarray
    narrow_expert: np.ndarray
    narrow_table: float
    unused: np.ndarray


class Whole(NamedTuple):
    """Bytes of each element that is whole during a pass, 0 if it always is.

    `gradients` of a pass; `layer_gradients` and `weights` of one layer at a time, `wide` of the
    ends. `hides`: moves overlap with compute, or weights are gathered ahead.
    """

    gradients: float
    layer_gradients: float
    weights: float
    wide: float
    hides: bool


class Sharing(NamedTuple):
    """Which way of being whole each plan uses, None if nothing is sharded.

    `least` is a bucket's elements by shape, `experts` whether they are shared.
    """

    ways: list[Whole | None]
    way: np.ndarray
    least: np.ndarray
    experts: np.ndarray


def worst(
    parts: list[Part], holders: list[Holder], shape: np.ndarray, fixed: Fixed, sharing: Sharing
) -> np.ndarray:
    """Return the most bytes any device of each plan needs."""
    front, *kinds, tail = parts
    found = np.zeros(len(shape))
    place = np.empty(len(tail.saves), np.intp)
    for one in holders:
        place.fill(-1)
        place[one.rows] = np.arange(len(one.rows))
        of = place[shape]
        plans = slice(None) if len(one.rows) == len(place) else np.flatnonzero(of >= 0)
        of = of[plans]
        need = activations(parts, one, sharing)[sharing.way[plans], of]
        for name in ("dense", "expert", "narrow", "narrow_expert"):
            factor = getattr(fixed, name)
            elements = _elements(name, front, kinds, tail, one)
            if name == "dense":
                # With both ends of the model, a tied embedding counts once.
                elements -= np.where(one.is_first & one.is_last, tail.tied[one.rows], 0.0)
            if elements.any():
                need += elements[of] * factor[plans]
        for name in ("table", "narrow_table"):
            need += (_elements(name, front, kinds, tail, one) * getattr(fixed, name))[of]
        need += _unused(front, kinds, tail, one)[of] * fixed.unused[plans]
        found[plans] = np.maximum(found[plans], need)
    return found


def _unused(front: Part, kinds: list[Part], tail: Part, one: Holder) -> np.ndarray:
    """Gradients that products give out: of the largest layer, and of the ends."""
    pairs = zip(one.layers, kinds, strict=True)
    found = reduce(np.maximum, (np.where(n > 0, kind.unused[one.rows], 0.0) for n, kind in pairs))
    for end, there in ((front, one.is_first), (tail, one.is_last)):
        found = found + np.where(there, end.unused[one.rows], 0.0)
    return found


def _elements(name: str, front: Part, kinds: list[Part], tail: Part, one: Holder) -> np.ndarray:
    terms = [n * getattr(kind, name)[one.rows] for n, kind in zip(one.layers, kinds, strict=True)]
    ends = ((front, one.is_first), (tail, one.is_last))
    terms += [np.where(there, getattr(end, name)[one.rows], 0.0) for end, there in ends]
    found: np.ndarray = reduce(np.add, terms)
    return found


def activations(parts: list[Part], one: Holder, sharing: Sharing) -> np.ndarray:
    """Return a device's most bytes of activations and of what is temporarily whole."""
    front, *kinds, tail = parts
    moments = len(one.fronts)
    ends = np.append(one.begins[1:], moments)
    row = one.rows.repeat(ends - one.begins)
    saves = [kind.saves[row] for kind in kinds]
    held = reduce(np.add, (n * of for n, of in zip(one.held, saves, strict=True)))
    of_tail = tail.saves[row]
    held = held + one.fronts * front.saves[row] + one.tails * of_tail
    peaks = (
        np.where(n > 0, kind.peak[row], 0.0) for n, kind in zip(one.within, kinds, strict=True)
    )
    layers_peak, tail_peak = reduce(np.maximum, peaks), tail.peak[row]
    some = [way for way in sharing.ways if way is not None]
    if some:
        done = reduce(np.add, (n * of for n, of in zip(one.within, saves, strict=True)))
        units = _units(front, kinds, tail, one, sharing, row)
        behind_tail = held - np.where(one.at_tail, of_tail, 0.0)
    most = np.empty((len(sharing.ways), len(one.rows)))
    for at, way in enumerate(sharing.ways):
        layers, ends_with = layers_peak, tail_peak
        if way is not None:
            beside = _beside(units, one, way)
            layers, ends_with = layers + beside.layers, ends_with + beside.tail
        # The pass begins with the tail, whose activations are freed when layers follow.
        at_tail = np.maximum(ends_with, layers - of_tail)
        found = held + np.where(one.at_tail, at_tail, layers)
        if way is not None:
            found = np.maximum(found, np.where(one.at_front, held - done + beside.front, 0.0))
            if way.gradients:
                beyond = behind_tail - units.before * done + layers_peak
            else:
                beyond = behind_tail - done - front.saves[row]
            found = np.maximum(found, np.where(one.at_front, beyond + beside.elsewhere, 0.0))
        np.maximum.reduceat(found, one.begins, out=most[at])
    return most


class _Units(NamedTuple):
    """Elements of the units that a backward pass has in each moment.

    `dense` and `expert` of its largest layer, of `every` layer with the tail, of the `tail`, of the
    `front`; `usual` those of a bucket, of layers `several` or not. `before` is the share of layers
    behind the one where the first bucket ends. A device with both ends has `tied` elements in both;
    `reads` is 1 if a backward pass has the front's weights.
    """

    dense: np.ndarray
    expert: np.ndarray
    every: np.ndarray
    tail: np.ndarray
    front: np.ndarray
    usual: np.ndarray
    several: np.ndarray
    before: np.ndarray
    tied: np.ndarray
    reads: np.ndarray


def _units(
    front: Part, kinds: list[Part], tail: Part, one: Holder, sharing: Sharing, row: np.ndarray
) -> _Units:
    shared = sharing.experts

    def size(part: Part) -> np.ndarray:
        found: np.ndarray = (part.dense + np.where(shared, part.expert, 0.0))[row]
        return found

    def most(name: str) -> np.ndarray:
        pairs = zip(one.within, kinds, strict=True)
        return reduce(np.maximum, (np.where(n > 0, getattr(k, name)[row], 0.0) for n, k in pairs))

    of_tail = size(tail)
    every = reduce(np.add, (n * size(kind) for n, kind in zip(one.within, kinds, strict=True)))
    layers = reduce(np.add, one.within)
    both, ends = one.at_front & one.at_tail, np.where(one.at_tail, of_tail, 0.0)
    usual = (sharing.least + kinds[-1].dense_grain)[row]
    each = np.maximum(every, 1.0) / np.maximum(layers, 1)
    behind = np.clip(np.floor((usual - ends) / each), 0, np.maximum(layers - 1, 0))
    return _Units(
        dense=most("dense"),
        expert=np.where(shared[row], most("expert"), 0.0),
        every=every + ends,
        tail=of_tail,
        front=np.where(one.at_front, size(front), 0.0),
        usual=usual,
        several=layers > 1,
        before=behind / np.maximum(layers, 1),
        tied=np.where(both, tail.tied[row], 0.0),
        reads=front.reads[row],
    )


class _Beside(NamedTuple):
    """Bytes whole beside activations during layers, the tail, or the front;

    `elsewhere`: where the first gradient bucket ends, or as the front begins a forward pass.
    """

    layers: np.ndarray
    tail: np.ndarray
    front: np.ndarray
    elsewhere: np.ndarray


def _beside(units: _Units, one: Holder, way: Whole) -> _Beside:
    dense, tail, front = units.dense, units.tail, units.front
    largest, whole = dense + units.expert, units.every + units.front - units.tied
    gradients, layer_gradients, weights, wide, hides = way
    # A bucket ends anywhere: on average half a one beyond a layer is whole, and one behind the
    # tail.
    cut, at_tail, two = whole, whole, whole
    if hides:
        cut = np.minimum(whole, np.maximum(largest + units.usual / 2, units.usual))
        at_tail = np.minimum(whole, tail + units.usual)
        two = np.minimum(whole, np.maximum(largest + units.usual / 2, 2 * units.usual))
    reduced = gradients * np.where(one.at_front, cut, units.every)
    reduced_at_tail = gradients * np.where(one.at_front, at_tail, units.every)
    # A layer's dense weights precede its experts, so two of these are whole.
    next_layer = weights * dense if hides else 0.0
    ahead = np.where(units.several, next_layer, wide * front * units.reads if hides else 0.0)
    gathered = weights * largest + ahead + wide * units.tied * units.reads
    of_tail = layer_gradients * tail + wide * tail + next_layer
    in_front = layer_gradients * front + gradients * np.minimum(front, cut)
    return _Beside(
        layers=reduced + gathered + layer_gradients * (largest + units.tied),
        tail=reduced_at_tail + of_tail,
        front=in_front + wide * front * units.reads,
        elsewhere=gradients * two if gradients else wide * front + next_layer,
    )
