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
    `hides` says whether anything is moved while a device computes, or gathered ahead.
    """

    gradients: float
    layer_gradients: float
    weights: float
    hides: bool


class Sharing(NamedTuple):
    """Which of some ways of what is whole each plan has, None where nothing is sharded.

    Of each shape `least` elements a bucket has, and `experts` says whether they are shared, too.
    """

    ways: list[Whole | None]
    way: np.ndarray
    least: np.ndarray
    experts: np.ndarray


def worst(
    parts: list[Part], holders: list[Holder], shape: np.ndarray, fixed: Fixed, sharing: Sharing
) -> np.ndarray:
    """Return the most that any device of each plan needs, in bytes.

    Front, kinds of layers and tail, and what devices hold, are by shape; `shape` is that of each
    plan.
    """
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
        for name, factor in (("dense", fixed.dense), ("expert", fixed.expert)):
            elements = _elements(name, front, kinds, tail, one)
            if name == "dense":
                # A device with both ends of the model holds a tied embedding once.
                elements -= np.where(one.is_first & one.is_last, tail.tied[one.rows], 0.0)
            if elements.any():
                need += elements[of] * factor[plans]
        need += (_elements("table", front, kinds, tail, one) * fixed.table)[of]
        found[plans] = np.maximum(found[plans], need)
    return found


def _elements(name: str, front: Part, kinds: list[Part], tail: Part, one: Holder) -> np.ndarray:
    terms = [n * getattr(kind, name)[one.rows] for n, kind in zip(one.layers, kinds, strict=True)]
    ends = ((front, one.is_first), (tail, one.is_last))
    terms += [np.where(there, getattr(end, name)[one.rows], 0.0) for end, there in ends]
    found: np.ndarray = reduce(np.add, terms)
    return found


def activations(parts: list[Part], one: Holder, sharing: Sharing) -> np.ndarray:
    """Return the most bytes of activations, and of what is whole for a time, on a device.

    One row for each way of what is whole, one column for each shape that has the device.
    """
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
        # The pass begins with the tail; what that had saved is gone when layers follow.
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

    `dense` and `expert` of its largest layer, of `every` layer with the tail, of the `tail` and of
    the `front`; `usual` are those of a bucket, and `several` says whether it has several layers.
    `before` is the share of the layers behind the one in which the first bucket ends. A device with
    both ends has `tied` ones in the tail and in the front; `reads` is 1 where a backward pass has
    the weights of the front.
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
    """Bytes that are whole beside activations while layers, the tail, or the front work.

    And `elsewhere`: where the first bucket of gradients ends; with whole weights while the front
    begins a forward pass.
    """

    layers: np.ndarray
    tail: np.ndarray
    front: np.ndarray
    elsewhere: np.ndarray


def _beside(units: _Units, one: Holder, way: Whole) -> _Beside:
    dense, tail, front = units.dense, units.tail, units.front
    largest, whole = dense + units.expert, units.every + units.front - units.tied
    gradients, layer_gradients, weights, hides = way
    # A bucket is cut anywhere: half a one more than a layer is whole in the mean, and one behind
    # the tail. One of several layers is whole from the first on, and two where it ends.
    cut, at_tail, two = whole, whole, whole
    if hides:
        cut = np.minimum(whole, np.maximum(largest + units.usual / 2, units.usual))
        at_tail = np.minimum(whole, tail + units.usual)
        two = np.minimum(whole, np.maximum(largest + units.usual / 2, 2 * units.usual))
    reduced = gradients * np.where(one.at_front, cut, units.every)
    reduced_at_tail = gradients * np.where(one.at_front, at_tail, units.every)
    # The unit ahead of the experts of a layer are its dense weights, so of these there are two.
    ahead = np.where(units.several, dense, front * units.reads) if hides else 0.0
    gathered = weights * (largest + ahead + units.tied * units.reads)
    of_tail = layer_gradients * tail + weights * (tail + (dense if hides else 0.0))
    in_front = layer_gradients * front + gradients * np.minimum(front, cut)
    return _Beside(
        layers=reduced + gathered + layer_gradients * (largest + units.tied),
        tail=reduced_at_tail + of_tail,
        front=in_front + weights * front * units.reads,
        elsewhere=gradients * two if gradients else weights * (front + (dense if hides else 0.0)),
    )
