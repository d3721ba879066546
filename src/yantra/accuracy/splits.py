"""Which rows may be fitted to judge which: no row is judged by a fit that saw its model.

* Known stack: factors in the row's context from the rows of all other models (`effects.py`), of
  which those of the same stack, release, machine, precision and kind say most.
* Unseen stack: the same without any row of the stack.

Beside kernels of the very machine both kinds of models are one, and its other rows alone count.

Intervals are judged likewise. What is not known of a step has a standard deviation, its own; how
far it is right for a stack and kind, the held-out steps of other models say: the mean square of
residuals over deviations, each model on a machine with one vote, is drawn to that of other stacks
of the kind, in the geometric mean, which counts as much as `NU` models,

    c^2 = (sum of v_m + NU v_0) / (n + NU),  half-width  t c deviation

with Student's t of n + NU degrees of freedom (Gelman et al., "Bayesian data analysis", section
2.6). Twenty steps of the stack have their conformal half-width, as a multiple of their deviations,
and twenty whose plans are most like the row's, of the same tensor parallelism and
micro-batch or of the same tensor parallelism, have their conformal half-width, and so have nine of
one profile.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean
from typing import NamedTuple

import numpy as np

from yantra.accuracy.effects import Fit, Observed, context_of, precision
from yantra.accuracy.fit import Factors, Parts, beside_profile, half_width
from yantra.accuracy.metrics import Band
from yantra.accuracy.own_fit import NU, student
from yantra.accuracy.rows import Row
from yantra.run.interval import bounds

ENOUGH = 20
_LEAST = 1e-3  # of a mean square
SAME = "same stack and machine"
_OTHER_FAMILIES = ("fsdp",)

Key = tuple[object, ...]


class Judged(NamedTuple):
    """A row with the factors that others gave it, its seconds with them, and its interval.

    `deviation` is the standard deviation of the logarithm of its time, before its stack's scatter.
    """

    parts: Parts
    factors: Factors
    basis: str
    seconds: float
    deviation: float
    half_width: float = 0.0

    @property
    def ratio(self) -> float:
        """Return ours as a multiple of the measured time."""
        return self.seconds / self.parts.row.seconds

    @property
    def band(self) -> Band:
        """Return the interval beside the measured time."""
        low, high = bounds(self.half_width)
        return Band(self.parts.row.seconds, self.seconds * low, self.seconds * high)


def family(row: Row) -> str:
    """Return the family of a stack: `megatron`, or the first word of another."""
    first = row.stack.partition("-")[0]
    return first if first in _OTHER_FAMILIES else "megatron"


def _any_kind(row: Row) -> Key:
    return row.stack, row.cluster


Ran = Mapping[Row, float]
"""Seconds of rows that were run with the factors that others gave them."""


def judged(parts: Sequence[Parts], *, unseen: bool, ran: Ran | None = None) -> list[Judged]:
    """Return every row with factors of rows that do not share its model, and no interval yet.

    `unseen` takes those of other stacks alone. `ran` are the runs with these factors; without them
    the sums of the parts count.
    """
    observed = Observed(one for one in parts if not one.row.profile)
    known: dict[Key, tuple[Fit, str]] = {}
    made = []
    for one in parts:
        row = one.row
        key = (context_of(row), row.fold, row.profile)
        if key not in known:
            known[key] = _fit_of(row, parts, observed, unseen)
        fit, basis = known[key]
        of = fit.factors
        seconds = of.of(one) if ran is None else ran[row]
        made.append(Judged(one, of, basis, seconds, fit.deviation(one)))
    return made


def _fit_of(row: Row, parts: Sequence[Parts], observed: Observed, unseen: bool) -> tuple[Fit, str]:
    def counts(other: Row) -> bool:
        return other.fold != row.fold and not (unseen and other.stack == row.stack)

    beside = [one for one in parts if _any_kind(one.row) == _any_kind(row) and counts(one.row)]
    if row.profile and beside:
        return Fit(beside_profile(beside), np.zeros((3, 3))), SAME
    fit = observed.at(context_of(row), counts)
    if unseen:
        return fit, "other stacks"
    alike = [one.row for one in parts if one.row.stack == row.stack and counts(one.row)]
    if not alike:
        return fit, "other stacks"
    same = any(context_of(one) == context_of(row) for one in alike)
    return fit, SAME if same else "same stack, other machines, kinds or releases"


def on_left_out_machines(parts: Sequence[Parts]) -> dict[str, list[float]]:
    """Return ours over measured with factors from other machines of the stack, by machine.

    Of stacks with steps on several machines, without a profile; the sums of parts count.
    """
    observed = Observed(one for one in parts if not one.row.profile)
    machines = {(one.row.stack, one.row.cluster) for one in parts if not one.row.profile}
    several = {stack for stack, _ in machines if sum(of == stack for of, _ in machines) > 1}
    known: dict[Key, Factors] = {}
    found: dict[str, list[float]] = defaultdict(list)
    for one in parts:
        row = one.row
        if row.profile or row.stack not in several:
            continue
        key = context_of(row), row.fold
        if key not in known:

            def counts(other: Row, row: Row = row) -> bool:
                return other.fold != row.fold and other.cluster != row.cluster

            known[key] = observed.at(context_of(row), counts).factors
        found[row.cluster].append(known[key].of(one) / row.seconds)
    return dict(sorted(found.items()))


def residuals(rows: Iterable[Judged]) -> list[tuple[Row, float]]:
    """Return the logarithms of measured / predicted."""
    return [(one.parts.row, log(one.parts.row.seconds / one.seconds)) for one in rows]


def with_intervals(rows: Sequence[Judged]) -> list[Judged]:
    """Return the rows with the half-width that held-out residuals of other models give."""
    known: dict[Key, Callable[[float], float]] = {}
    made = []
    for one in rows:
        row = one.parts.row
        key = (row.stack, row.kind, row.fold, row.profile, shape_of(row))
        if key not in known:
            known[key] = width_for(row, [o for o in rows if o.parts.row.fold != row.fold])
        made.append(one._replace(half_width=known[key](one.deviation)))
    return made


def width_for(row: Row, others: Sequence[Judged]) -> Callable[[float], float]:
    """Return how wide an interval of a row's stack is by deviation, from rows of other models."""
    known = widths_by_plan([row], residuals(others))
    shape = shape_of(row)
    for wanted in (shape, shape[:1]):
        if wanted in known:
            return partial(_constant, known[wanted][1])
    return pooled(row, others)


def _constant(width: float, _: float) -> float:
    return width


def pooled(row: Row, others: Iterable[Judged]) -> Callable[[float], float]:
    """Return the half-width of a row's stack as a whole, by deviation; inf of no residuals."""
    others = list(others)
    if row.profile:
        alike = [off for o, off in residuals(others) if o.profile == row.profile]
        if isfinite(width := half_width(alike)):
            return partial(_constant, width)
    sizes = [_size(one) for one in others if _pool(one.parts.row) == _pool(row)]
    if len(sizes) >= ENOUGH:
        return half_width(sizes).__mul__
    squares: dict[Key, dict[Key, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in others:
        of = one.parts.row
        if of.kind == row.kind or _pool(of) == _pool(row):
            squares[_pool(of)][of.fold, of.cluster, precision(of)].append(_size(one) ** 2)
    scatters = {pool: [fmean(of) for of in models.values()] for pool, models in squares.items()}
    own = scatters.pop(_pool(row), [])
    apart = [fmean(of) for of in scatters.values()] or ([fmean(own)] if own else [])
    if not apart:
        return partial(_constant, inf)
    drawn_to = exp(fmean(log(max(one, _LEAST)) for one in apart))
    freedom = len(own) + NU
    times = student(freedom) * sqrt((sum(own) + NU * drawn_to) / freedom)
    return times.__mul__


def _size(one: Judged) -> float:
    """Return how far a step is off, in its own deviations."""
    return log(one.parts.row.seconds / one.seconds) / one.deviation


def _pool(row: Row) -> Key:
    """Return whose scatter a row's is: that of its profile, or of its stack and kind."""
    return (row.profile,) if row.profile else (row.stack, row.kind)


def shape_of(row: Row) -> tuple[int, int]:
    """Return what plans are like one another by: tensor parallelism and micro-batch.

    They set how large the kernels are, and how long the messages in their way.
    """
    return _shape(row.plan)


@cache
def _shape(plan: str) -> tuple[int, int]:
    given = json.loads(plan)
    return int(given.get("tp", 1)), int(given.get("micro_batch", 1))


def widths_by_plan(
    rows: Sequence[Row], off: Sequence[tuple[Row, float]]
) -> dict[tuple[int, ...], tuple[int, float]]:
    """Return residuals and half-width by shape of plan, or by its first part, where there are 20.

    `rows` are of one stack and kind; `off` are held-out residuals, of which theirs are taken. Of
    plans of one shape, or of one first part, none is told apart by it.
    """
    own = [(o, one) for o, one in off if (o.stack, o.kind) == (rows[0].stack, rows[0].kind)]
    found: dict[tuple[int, ...], tuple[int, float]] = {}
    for parts in (2, 1):
        by_shape: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for row, one in own:
            by_shape[shape_of(row)[:parts]].append(one)
        if len(by_shape) > 1:
            enough = {shape: of for shape, of in by_shape.items() if len(of) >= ENOUGH}
            found |= {shape: (len(of), half_width(of)) for shape, of in enough.items()}
    return dict(sorted(found.items()))
