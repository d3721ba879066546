"""Which rows may be fitted to judge which: no row is judged by a fit that saw its model.

* Known stack: factors from rows of the same stack with other models. The nearest of these that has
  any: the same machine, precision and kind (dense, or mixture of experts); the same machine, whose
  kernels and links are nearer than the kind is; other machines of the same precision and kind.
* Unseen stack: factors from all other stacks of the family, same precision and kind. A family is
  Megatron-LM and what is made of its core, or all else.

Intervals are judged likewise: the residuals that set the half-width of a row's interval are
held-out ones of other models. Where no row of the stack on the machine was fitted they are those of
unseen stacks, unless kernels of the very machine were measured.

Twenty of the stack and kind have their conformal half-width: those whose plans are most like the
row's, of the same tensor parallelism and micro-batch, of the same tensor parallelism, or any. Rows
of one profile are one stack, of both kinds, as what differs between kinds, their kernels, is
measured; nine of them are enough. A stack of fewer has a scatter s: the mean square of its
residuals, each model on a machine with one vote, is drawn to that of other stacks of the kind, in
the geometric mean, which counts as much as `NU` models,

    s^2 = (sum of v_m + NU v_0) / (n + NU),  half-width  t s

with Student's t of n + NU degrees of freedom (Gelman et al., "Bayesian data analysis", section
2.6). So few models make an interval wider than their scatter, but not as wide as the worst stack.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean
from typing import NamedTuple

from yantra.accuracy.fit import Factors, Parts, fitted, half_width
from yantra.accuracy.metrics import Band
from yantra.accuracy.own_fit import NU, student
from yantra.accuracy.rows import Row
from yantra.fabric.stacks.types import EIGHT_BITS
from yantra.run.interval import bounds

ENOUGH = 20
_LEAST = 1e-6  # of a mean square: a scatter of a thousandth
_OTHER_FAMILIES = ("fsdp",)

Key = tuple[object, ...]


class Judged(NamedTuple):
    """A row with the factors that others gave it, its seconds with them, and its interval."""

    parts: Parts
    factors: Factors
    basis: str
    seconds: float
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


def precision(row: Row) -> str:
    """Return `8 bits` where products are in 8 bits or fewer, else `16 bits`."""
    return "8 bits" if row.dtype in EIGHT_BITS else "16 bits"


def family(row: Row) -> str:
    """Return the family of a stack: `megatron`, or the first word of another."""
    first = row.stack.partition("-")[0]
    return first if first in _OTHER_FAMILIES else "megatron"


def _exact(row: Row) -> Key:
    return row.stack, row.cluster, precision(row), row.kind


def _any_machine(row: Row) -> Key:
    return row.stack, precision(row), row.kind


def _any_kind(row: Row) -> Key:
    return row.stack, row.cluster


def _of_family(row: Row) -> Key:
    return family(row), precision(row), row.kind


_KNOWN: tuple[tuple[str, Callable[[Row], Key]], ...] = (
    ("same stack and machine", _exact),
    ("same stack and machine, other kind", _any_kind),
    ("same stack, other machines", _any_machine),
)


Ran = Mapping[Row, float]
"""Seconds of rows that were run with the factors that others gave them."""


def judged(parts: Sequence[Parts], *, unseen: bool, ran: Ran | None = None) -> list[Judged]:
    """Return every row with factors of rows that do not share its model, and no interval yet.

    `unseen` takes those of other stacks alone. Rows that none are left for have factors of 1.
    `ran` are the runs with these factors; without them the sums of the parts count.
    """
    known: dict[Key, tuple[Factors, str]] = {}
    made = []
    for one in parts:
        row = one.row
        key = (*_exact(row), None if unseen else row.fold)
        if key not in known:
            known[key] = _factors(row, parts, unseen)
        factors, basis = known[key]
        made.append(Judged(one, factors, basis, factors.of(one) if ran is None else ran[row]))
    return made


def _factors(row: Row, parts: Iterable[Parts], unseen: bool) -> tuple[Factors, str]:
    if unseen:
        others = [one for one in parts if one.row.stack != row.stack and one.row.fold != row.fold]
        chosen = [one for one in others if _of_family(one.row) == _of_family(row)]
        return fitted(
            chosen, elsewhere=True
        ), f"{len(chosen)} rows of other stacks" if chosen else "nothing fitted"
    others = [one for one in parts if (one.row.stack, one.row.fold) != (row.stack, row.fold)]
    return nearest(row, others)


def nearest(row: Row, others: Sequence[Parts]) -> tuple[Factors, str]:
    """Return the factors that rows of the same stack give, and which of them were nearest.

    Those of the very machine and kind are drawn to those of the kind on other machines, dense ones
    alone: dispatch libraries of mixtures of experts differ by machine. All else is drawn to 1.
    Beside a profile both kinds are one, as what differs between them, their kernels, is measured.
    """
    of_machine = [one for one in others if _any_kind(one.row) == _any_kind(row)]
    if row.profile and of_machine:
        has_kind = any(_exact(one.row) == _exact(row) for one in of_machine)
        return fitted(of_machine), _KNOWN[0 if has_kind else 1][0]
    own = [one for one in others if _exact(one.row) == _exact(row)]
    rest = [one for one in others if _exact(one.row) != _exact(row)]
    prior, basis = Factors(), "nothing fitted"
    for name, level in _KNOWN[1:] if not own else reversed(_KNOWN[1:]):
        chosen = [one for one in rest if level(one.row) == level(row)]
        is_strange = bool(own) and row.kind == "moe" and level is _any_machine
        if chosen and not is_strange:
            prior, basis = fitted(chosen, elsewhere=not row.profile), name
            break
    return (fitted(own, prior), _KNOWN[0][0]) if own else (prior, basis)


def residuals(rows: Iterable[Judged]) -> list[tuple[Row, float]]:
    """Return the logarithms of measured / predicted."""
    return [(one.parts.row, log(one.parts.row.seconds / one.seconds)) for one in rows]


def with_intervals(rows: Sequence[Judged], unseen: Sequence[Judged]) -> list[Judged]:
    """Return the rows with the half-width that held-out residuals of other models give.

    `unseen` are all rows judged by other stacks alone.
    """
    off, strange = residuals(rows), residuals(unseen)
    known: dict[Key, float] = {}
    made = []
    for one in rows:
        row = one.parts.row
        is_known = one.basis == _KNOWN[0][0] or (bool(row.profile) and one.factors.rows > 0)
        key = (row.stack, row.kind, row.fold, is_known, shape_of(row))
        if key not in known:
            known[key] = width_for(row, off if is_known else strange)
        width = known[key]
        made.append(one._replace(half_width=width))
    return made


def width_for(row: Row, off: Sequence[tuple[Row, float]]) -> float:
    """Return the half-width of a row's interval, from residuals of other models."""
    usable = [(o, one) for o, one in off if o.fold != row.fold]
    known = widths_by_plan([row], usable)
    shape = shape_of(row)
    for wanted in (shape, shape[:1]):
        if wanted in known:
            return known[wanted][1]
    return pooled(row, usable)


def pooled(row: Row, off: Iterable[tuple[Row, float]]) -> float:
    """Return the half-width of a row's stack as a whole; inf of no residuals."""
    off = list(off)
    alike = [one for o, one in off if _pool(o) == _pool(row)]
    if len(alike) >= ENOUGH or (row.profile and isfinite(half_width(alike))):
        return half_width(alike)
    squares: dict[Key, dict[Key, list[float]]] = defaultdict(lambda: defaultdict(list))
    for o, one in off:
        if o.kind == row.kind or _pool(o) == _pool(row):
            squares[_pool(o)][o.fold, o.cluster, precision(o)].append(one * one)
    scatters = {pool: [fmean(of) for of in models.values()] for pool, models in squares.items()}
    own = scatters.pop(_pool(row), [])
    others = [fmean(of) for of in scatters.values()] or [fmean(own)] if own or scatters else []
    if not others:
        return inf
    drawn_to = exp(fmean(log(max(one, _LEAST)) for one in others))
    freedom = len(own) + NU
    return student(freedom) * sqrt((sum(own) + NU * drawn_to) / freedom)


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
