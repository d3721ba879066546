"""A plan as a search reports it: time, memory, cost and causes, or what it lacks."""

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
    """One plan: its time in ns, simulated and by closed form, and its figures.

    `not_simulated` says why the time is the closed form's, or is empty. `parts_ns` are the closed
    form's parts (`Judged`), scaled to the simulated time so that differences add up. `sure` is None
    if the stack states no interval. `refined`: fields without a closed form changed; `closed_ns` is
    without them.
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
        return abs(self.closed_ns / self.time_ns - 1)


class Lost(NamedTuple):
    """A faster plan that does not fit: closed form in ns, bytes it lacks."""

    plan: Plan
    closed_ns: float
    lacks_bytes: int


def kind_of(plan: Plan) -> tuple[Any, ...]:
    return tuple(getattr(plan, name) for name in KIND)


def best_of_kinds(found: Iterable[Ranked]) -> list[Ranked]:
    best: dict[tuple[Any, ...], Ranked] = {}
    for one in sorted(found, key=lambda one: one.time_ns):
        best.setdefault(kind_of(one.plan), one)
    return list(best.values())


def rows_by_kind(columns: Columns, judged: Judged, among: np.ndarray) -> np.ndarray:
    rows = np.flatnonzero(among)
    rows = rows[np.argsort(judged.time_ns[rows], kind="stable")]
    code = np.zeros(len(rows), dtype=np.int64)
    for name in KIND:
        code = code * (int(columns[name].max()) + 1) + columns[name][rows]
    _, first = np.unique(code, return_index=True)
    found: np.ndarray = rows[np.sort(first)]
    return found
