"""What-if bounds: how long the same run takes when one cause of time is gone.

Each row is a run of its own, by the same engine on the same traces, with the cause taking no time
at all (`yantra.compile.removal`). So a gain is what the engine says and no estimate, and since no
real improvement of that cause beats removing it, "at most" is meant. Two things to know:

* Ranks take work first come, first served. As with any list schedule a removal can change an order
  and make a run longer (Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math.
  1969); such a row has a negative gain, and the bound for a real improvement is then no bound.
* Gains do not add up: two causes that hide behind each other gain little one by one.

The last two rows need no run: what waiting costs follows from where the time of the ranks goes
(`yantra.result.waits`). Rows with a `kind` are those that compete to be what bounds the run.
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
from yantra.run.verdict import causes, gains_of_waits, must_fold
from yantra.scenario import Scenario
from yantra.scenario.types import Fold

MOST_NODES_UNFOLDED = 2_000_000
"""Where a folded run would have more nodes than this unfolded, its bounds must fold, too."""

BoundsProgress = Callable[[int, int], None]
"""Called with the runs done and the runs in all."""


class Bound(NamedTuple):
    """The run without some causes; `gain` is a share of the makespan, negative where longer.

    Where there was no such run, `problem` says why and the numbers are None. `kind` is that of
    `Result.bound_by` for a cause that may bound a run, and empty for what contains such a cause or
    is part of one. `bound_by` is an estimate of what bounds the run that is left.
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
    """The bounds of a run: `rows` in the order of `REMOVALS`, then what waiting costs.

    `result` is the run itself, `best` the row of a run that gains most of those that may bound one
    (of the removals that were asked for, of all), and `next` its run, recorded if the first was:
    what bounds that one is the next bottleneck. Both are None where nothing gains. `bound_by` is
    what bounds the run, by these rows.
    """

    def __init__(
        self, result: Result, rows: tuple[Bound, ...], best: Bound | None, next: Result | None
    ) -> None:
        self.result = result
        """The run as it is."""
        self.rows = rows
        """What removing each cause gains, in the order of REMOVALS, then what waiting costs."""
        self.best = best
        """Of the rows that may bound a run the one that gains most; None where nothing gains."""
        self.next = next
        """The run of `best`, which shows what bounds next."""

    def __repr__(self) -> str:
        return f"<WhatIf: {self.bound_by.text}; {count(len(self.rows), 'row')} in .table>"

    def _repr_html_(self) -> str:
        return f"<div><p>{escape(self.bound_by.text)}</p>{self.table._repr_html_()}</div>"

    @property
    def bound_by(self) -> bounds.Bound:
        """The cause whose removal gains most; an estimate where one of them could not be run."""
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
        return bounds.largest(gains, max(self.result.outcome.finish))

    @property
    def table(self) -> Table:
        """The rows as a table; a bound that could not be run has no numbers."""
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

    What a given model is already without stays removed, so bounds of the next step can be asked
    for: `what_if(bounds.next)`. Only removals that mean something for the scenario are run; they
    are REMOVALS and the bandwidth of each dimension if none are given.
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
    if best is None or (best[0].gain_ns or 0) <= 0:
        return WhatIf(result, tuple(rows), None, None)
    row, relieved = best
    if result.recorded:
        relieved = run(relieved.model, record=True, like=result)
    return WhatIf(result, tuple(rows), row, relieved)


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
    """Return REMOVALS with, behind the first, the bandwidth of each of several dimensions."""
    first, *others = REMOVALS
    return tuple(dict.fromkeys((first, *bandwidth_removals(model), *others)))


def _of_waits(result: Result) -> list[Bound]:
    """Return the rows that need no run; what is left by them is not known."""
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
    """Return what texts call the causes, by the names of their rows."""
    labels = {cause.removal.name: cause.label for cause in causes(result)}
    return labels | {gain.kind: gain.label for gain in gains_of_waits(result)}


def _ticks(row: Bound, model: Model) -> int:
    return round((row.gain_ns or 0) * model.ticks_per_ns)


def _is_better(row: Bound, best: Bound) -> bool:
    """Of equal gains, the one that removes less."""
    return (row.gain_ns or 0, -len(row.causes)) > (best.gain_ns or 0, -len(best.causes))
