"""How sure a search is of its best plan: the interval of each time, and the chance that it wins.

A plan's interval is that of its run (`yantra.run.interval`), to the bit, unless two more runs of it
would take long: then it is what the stack states. Plans of one machine and framework share most of
an error: kernels of one class are wrong together, and a factor of machine and framework is the same
for all. So a plan is drawn as

    T_i x (sum of share_ic x exp(w_ic z_c)) x exp(o_i n_i)

with one z for each class of kernels (products, attention, the rest) and all plans, and one n for
each plan: what of the interval its classes leave, in the part that is a plan's own (`OWN`), and the
error of the closed form where that is all there is. The chance of a plan is the share of draws in
which it is the least.

Trade-off: the chance is among the plans that are told, and not among all of a space; plans that
differ little share more than this says, so the chances of such look more even than they are.
"""

from __future__ import annotations

from math import hypot, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.normal import WITHIN_90
from yantra.explore.answers.widths import CLOSED_FORM, deviation_of
from yantra.fabric.stacks.choice import UNKNOWN
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
    """Of one plan: shares of its time that hold 90 %, and the chance to be the fastest told.

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
    """Return how sure the plans of a search are, from their runs; None for a stack that says none.

    A plan without a result has the interval that its stack states.
    """
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
    """Return what a plan is drawn from; without a short run its classes are not told apart."""
    stated = stated_by_stack(exact.model) / WITHIN_90
    stack = exact.model.scenario.stack
    is_known = stack is not None and (stack.name or "").split(" ")[0] != UNKNOWN
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
