"""How sure a search is of its best plan: each time's interval, and the chance that it wins.

A plan has the interval of its run (`yantra.run.interval`), or the stack's if two more runs would
take long. Plans share the errors of kernel classes and of machine and framework. A plan is drawn as

    T_i x (sum of share_ic x exp(w_ic z_c)) x exp(o_i n_i)

with one z for each class of kernels (products, attention, the rest) and one n for each plan: the
part `OWN` of what the classes leave, and the closed form's error if there is no run.

Trade-off: chances are among the plans shown, and similar plans share more than this says, so theirs
look too even.
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.normal import WITHIN_90
from yantra.explore.answers.widths import CLOSED_FORM, deviation_of
from yantra.run.interval import (
    bounds,
    class_widths,
    of_classes,
    responses,
    rests_on,
    stated_by_stack,
    stated_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.explore.closed_form.exact import Exact

OWN, OWN_OF_UNKNOWN = 0.85, 0.55
"""Which part of the deviation of a step is its plan's own, where the framework is known and where
it is not: of 160 steps in 23 groups of one data set, machine and model
(docs/reference/accuracy.md), the deviation within a group over that of all."""
_DRAWS = 1 << 13
_MOST_EVENTS = 5_000_000
"""Runs of more events are not repeated to find what their classes of kernels are of the time."""


_ALL_ALIKE = np.array([0.0, 0.0, 1.0])
"""Shares of products, attention and the rest that say nothing of them."""


class Sure(NamedTuple):
    """A plan's 90 % interval as shares of its time, and its chance to be fastest.

    `rests_on` is what the time rests on, in words.
    """

    low: float
    high: float
    wins: float
    rests_on: str


class _Drawn(NamedTuple):
    shares: np.ndarray
    widths: np.ndarray
    own: float


def sure_of(times_ns: Sequence[float], exacts: Sequence[Exact]) -> list[Sure | None]:
    """Return how sure plans are, from their runs; None if the stack states nothing."""
    if any(not stated_by_stack(exact.model) for exact in exacts):
        return [None] * len(exacts)
    found = [_drawn(exact) for exact in exacts]
    wins = _chances(np.asarray(times_ns, float), found)
    told: list[Sure | None] = []
    for exact, one, chance in zip(exacts, found, wins, strict=True):
        stated = stated_of(exact.model, one.shares, list(one.widths))
        low, high = bounds(stated)
        told.append(Sure(low, high, float(chance), rests_on(exact.model)))
    return told


def _drawn(exact: Exact) -> _Drawn:
    stated = stated_by_stack(exact.model) / WITHIN_90
    stack = exact.model.scenario.stack
    is_known = stack is not None and not stack.is_unknown
    own = OWN if is_known else OWN_OF_UNKNOWN
    if exact.result is None or exact.result.events > _MOST_EVENTS:
        known = 0.0 if exact.result is not None else deviation_of(CLOSED_FORM)
        return _Drawn(_ALL_ALIKE, np.zeros(len(_ALL_ALIKE)), hypot(own * stated, known))
    shares, widths = responses(exact.result), np.array(class_widths(exact.model))
    stated = stated_of(exact.model, shares, list(widths)) / WITHIN_90
    rest = sqrt(max(stated**2 - of_classes(shares, list(widths)) ** 2, 0.0))
    return _Drawn(shares, widths, own * rest)


def _chances(times_ns: np.ndarray, plans: Sequence[_Drawn]) -> np.ndarray:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((_DRAWS, len(plans[0].shares)))
    drawn = np.stack([np.exp(z * one.widths) @ one.shares for one in plans], axis=1)
    own = np.array([one.own for one in plans])
    drawn *= times_ns * np.exp(rng.standard_normal(drawn.shape) * own)
    counts: np.ndarray = np.bincount(drawn.argmin(axis=1), minlength=len(plans)) / _DRAWS
    return counts
