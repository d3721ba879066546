"""What-if bounds: how long the same run takes when one cause of time is gone.

Each row is a run of the same engine and traces with the cause taking no time
(`yantra.compile.removal`), so no real improvement gains more. But

* ranks take work first come, first served, so a removal can make a run longer (Graham, "Bounds on
  multiprocessing timing anomalies", SIAM J. Appl. Math.
* gains do not add up.

The last two rows need no run (`yantra.result.waits`). Rows with a `kind` compete to bound the run.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.base.text import count
from yantra.compile import Model, compile, compile_without
from yantra.result import Result
from yantra.result import bound as bounds
from yantra.result.table import Table
from yantra.result.tables import nanoseconds
from yantra.run.removals import REMOVALS, Removal, bandwidth_removals
from yantra.run.simulate import run
from yantra.run.verdict import causes, gains_of_waits, must_fold, unexplained_gains
from yantra.scenario import Scenario
from yantra.scenario.types import Fold

MOST_NODES_UNFOLDED = 2_000_000
"""If a folded run has more nodes than this unfolded, its bounds must fold, too."""

BoundsProgress = Callable[[int, int], None]
"""Called with the runs done and the runs in all."""


class Bound(NamedTuple):
    """The run without some causes; `gain` is a share of the makespan, negative where longer.

    Without such a run `problem` says why, and numbers are None. `kind` is as in `Result.bound_by`,
    empty for what contains such a cause or is part of one. `bound_by` estimates what bounds the run
    that is left.
    """

    name: str
    causes: tuple[str, ...]
    text: str
    makespan_ns: float | None
    gain_ns: float | None
    gain: float | None
    bound_by: str
    kind: str = ""
    problem: str = ""


class WhatIf:
    """The bounds of a run."""

    def __init__(
        self,
        result: Result,
        rows: tuple[Bound, ...],
        best: Bound | None,
        next: Result | None,
        unexplained: tuple[bounds.Gain, ...] = (),
    ) -> None:
        self.result = result
        """The run as it is."""
        self.rows = rows
        """Gains in the order of REMOVALS, then what waiting costs."""
        self.best = best
        """The row that gains most of all that may bound a run; None where nothing gains."""
        self.next = next
        """The run of `best`, recorded if the first was, which shows the next bottleneck."""

        self._unexplained = unexplained  # no row removes it, but it may bound the run

    def __repr__(self) -> str:
        return f"<WhatIf: {self.bound_by.text}; {count(len(self.rows), 'row')} in .table>"

    def _repr_html_(self) -> str:
        return f"<div><p>{escape(self.bound_by.text)}</p>{self.table._repr_html_()}</div>"

    @property
    def bound_by(self) -> bounds.Bound:
        """The cause whose removal gains most; an estimate if one could not be run."""
        rows = [row for row in self.rows if row.kind]
        if not rows or any(row.gain_ns is None for row in rows):
            return self.result.bound_by
        model = self.result.model
        labels = _labels(self.result)
        whole = {cause.removal.name for cause in causes(self.result) if cause.holds_others}
        gains = [
            bounds.Gain(row.kind, labels[row.name], row.text, _ticks(row, model), row.name in whole)
            for row in rows
            if row.gain_ns is not None
        ]
        return bounds.largest([*gains, *self._unexplained], max(self.result.outcome.finish))

    @property
    def table(self) -> Table:
        """The rows as a table; without a run there are no numbers."""
        rows = self.rows
        return Table(
            "what_if",
            len(rows),
            {
                "name": ("text", lambda: [row.name for row in rows]),
                "text": ("text", lambda: [row.text for row in rows]),
                "makespan_ns": ("real", lambda: [row.makespan_ns for row in rows]),
                "gain_ns": ("real", lambda: [row.gain_ns for row in rows]),
                "gain": ("real", lambda: [row.gain for row in rows]),
                "bound_by": ("text", lambda: [row.bound_by for row in rows]),
                "kind": ("text", lambda: [row.kind for row in rows]),
                "problem": ("text", lambda: [row.problem for row in rows]),
            },
        )


def what_if(
    of: Scenario | Model | Result,
    removals: tuple[Removal, ...] | None = None,
    *,
    progress: BoundsProgress | None = None,
) -> WhatIf:
    """Run a scenario again without each cause of time, and return what that gains.

    A model's removals stay, so `what_if(bounds.next)` asks for the next step. By default all that
    mean something for the scenario: REMOVALS and each dimension's bandwidth.
    """
    result = of if isinstance(of, Result) else run(of if isinstance(of, Model) else compile(of))
    wanted = _all_removals(result.model) if removals is None else removals
    chosen = [one for one in wanted if one.applies(result.model.scenario)]
    kinds = {cause.removal.name: cause.kind for cause in causes(result)}
    rows: list[Bound] = []
    best: tuple[Bound, Result] | None = None
    for done, removal in enumerate(chosen):
        if progress:
            progress(done, len(chosen))
        row, relieved = _bound(result, removal, kinds.get(removal.name, ""))
        rows.append(row)
        competes = bool(row.kind) or removals is not None
        if relieved is not None and competes and (best is None or _is_better(row, best[0])):
            best = row, relieved
    if progress:
        progress(len(chosen), len(chosen))
    if removals is None:
        rows += _of_waits(result)
    unexplained = tuple(unexplained_gains(result))
    if best is None or (best[0].gain_ns or 0) <= 0:
        return WhatIf(result, tuple(rows), None, None, unexplained)
    row, relieved = best
    if result.recorded:
        relieved = run(relieved.model, record=True, like=result)
    return WhatIf(result, tuple(rows), row, relieved, unexplained)


def _bound(result: Result, removal: Removal, kind: str) -> tuple[Bound, Result | None]:
    name, causes, text, _ = removal
    model = compile_without(result.model, {*result.model.without, *causes})
    fold: Fold | None = "require" if must_fold(result, model, MOST_NODES_UNFOLDED) else None
    try:
        relieved = run(model, fold=fold, like=result)
    except (DeadlockError, UnsupportedError) as error:
        problem = str(error).splitlines()[0]
        return Bound(name, causes, text, None, None, None, "", kind, problem), None
    before, after = result.makespan_ns, relieved.makespan_ns
    gain_ns = round(before - after, 3)
    gain = gain_ns / before if before else 0.0
    left = relieved.estimated_bound.kind
    bound = Bound(name, causes, text, after, gain_ns, gain, left, kind)
    return bound, relieved


def _all_removals(model: Model) -> tuple[Removal, ...]:
    first, *others = REMOVALS
    return tuple(dict.fromkeys((first, *bandwidth_removals(model), *others)))


def _of_waits(result: Result) -> list[Bound]:
    per_ns = result.model.ticks_per_ns
    makespan = max(result.outcome.finish)
    return [
        Bound(
            gain.kind,
            (),
            gain.text,
            nanoseconds(makespan - gain.ticks, per_ns) or 0,
            nanoseconds(gain.ticks, per_ns) or 0,
            gain.ticks / makespan if makespan else 0.0,
            "",
            gain.kind,
        )
        for gain in gains_of_waits(result)
    ]


def _labels(result: Result) -> dict[str, str]:
    labels = {cause.removal.name: cause.label for cause in causes(result)}
    return labels | {gain.kind: gain.label for gain in gains_of_waits(result)}


def _ticks(row: Bound, model: Model) -> int:
    return round((row.gain_ns or 0) * model.ticks_per_ns)


def _is_better(row: Bound, best: Bound) -> bool:
    return (row.gain_ns or 0, -len(row.causes)) > (best.gain_ns or 0, -len(best.causes))
