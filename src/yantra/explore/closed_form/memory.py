"""Bytes of the worst device of each plan: what lies there all the time, and activations in flight.

Weights, gradients and the optimizer's state are there by shards; activations by the moments of
`layouts.py`, each with the most that the backward pass has then. It is the peak of the step itself
(`yantra.workloads.training.memory`), but for the padding of small shards.
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


def worst(
    front: Part, kinds: list[Part], tail: Part, holders: list[Holder], fixed: Fixed
) -> np.ndarray:
    """Return the most that any device of each plan needs, in bytes; parts are by plan."""
    found = np.zeros_like(fixed.dense)
    for one in holders:
        need = activations(front, kinds, tail, one)
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
    return reduce(np.add, terms)


def activations(front: Part, kinds: list[Part], tail: Part, one: Holder) -> np.ndarray:
    """Return the most bytes of activations that a device holds at once."""
    moments = len(one.fronts)
    ends = np.append(one.begins[1:], moments)
    row = one.rows.repeat(ends - one.begins)
    saves = [kind.saves[row] for kind in kinds]
    held = reduce(np.add, (n * of for n, of in zip(one.held, saves, strict=True)))
    held = held + one.fronts * front.saves[row] + one.tails * tail.saves[row]
    peaks = (np.where(n, kind.peak[row], 0.0) for n, kind in zip(one.within, kinds, strict=True))
    peak = reduce(np.maximum, peaks)
    # The pass begins with the tail; what that had saved is gone when layers follow.
    of_tail = np.maximum(tail.peak[row], peak - tail.saves[row])
    most: np.ndarray = np.maximum.reduceat(held + np.where(one.at_tail, of_tail, peak), one.begins)
    return most
