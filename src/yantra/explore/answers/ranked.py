"""A plan as a search tells it: its time, memory, cost and causes, or what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yantra.explore.answers.sure import Sure
    from yantra.explore.closed_form.closed_form import Judged
    from yantra.explore.closed_form.space import Columns
    from yantra.workloads.plan.plan import Plan

KIND = ("tp", "cp", "ep", "pp", "micro_batch", "recompute")
"""Fields in which plans differ in kind."""


class Ranked(NamedTuple):
    """One simulated plan: times in ns, of the step and by the closed form, and what follows.

    `not_simulated` says why the time is that of the closed form, and is empty where it is not.
    `parts_ns` is the closed form's time in the parts of `Judged`, scaled to the simulated time, so
    that differences of two plans by cause add up to the difference of their times. `sure` has the
    interval and the chance to win, None where the stack states none. `refined` says that fields
    without a closed form were changed: `closed_ns` is then that of the plan without.
    """

    plan: Plan
    time_ns: float
    closed_ns: float
    memory_bytes: int
    mfu: float | None
    tokens_per_s: float
    cost_usd: float | None
    usd_per_million_tokens: float | None
    energy_j: float | None
    kwh_per_million_tokens: float | None
    parts_ns: tuple[float, float, float, float]
    not_simulated: str
    sure: Sure | None = None
    refined: bool = False

    @property
    def error(self) -> float:
        """How far the closed form is off, as a share of the simulated time."""
        return abs(self.closed_ns / self.time_ns - 1)


class Lost(NamedTuple):
    """A plan that would be faster but does not fit: time by closed form in ns, bytes it lacks."""

    plan: Plan
    closed_ns: float
    lacks_bytes: int


def kind_of(plan: Plan) -> tuple[Any, ...]:
    """Return what kind of plan it is."""
    return tuple(getattr(plan, name) for name in KIND)


def best_of_kinds(found: Iterable[Ranked]) -> list[Ranked]:
    """Return the fastest of each kind, the fastest first."""
    best: dict[tuple[Any, ...], Ranked] = {}
    for one in sorted(found, key=lambda one: one.time_ns):
        best.setdefault(kind_of(one.plan), one)
    return list(best.values())


def rows_by_kind(columns: Columns, judged: Judged, among: np.ndarray) -> np.ndarray:
    """Return the fastest row of each kind among some by closed form, the fastest kind first."""
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(judged.time_ns[rows], kind="stable")]
    code = np.zeros(len(rows), dtype=np.int64)
    for name in KIND:
        code = code * (int(columns[name].max()) + 1) + columns[name][rows]
    _, first = np.unique(code, return_index=True)
    found: np.ndarray = rows[np.sort(first)]
    return found
