"""What bounds a run: the cause whose removal gains most.

Each cause is removed exactly and the job run again by the same engine, folded where the run was.
So the first line of a summary agrees with the what-if bounds, always. The causes are chosen such
that none contains another (`yantra.run.removals`): the rate of arithmetic and the bandwidth of
memory, or all kernels where no roofline tells them apart; the bandwidth of each dimension, or of
links of a fabric by label or all together; latency and hand-overs; remote memory; host work; and
waiting, whose removal needs no run.

Trade-off: a handful of runs for one line. Where they would handle more than MOST_EVENTS events or
compile more than MOST_NODES nodes, or a removal of a large folded run cannot be folded, the bound
is an estimate and says so.
"""

from __future__ import annotations

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import Model, compile_without
from yantra.result import Result
from yantra.result.bound import Gain, of_waits
from yantra.result.waits import waits
from yantra.run.removals import Cause, causes_of
from yantra.scenario.types import Fold

MOST_EVENTS = 2_000_000
"""How many events all removals together may have, if each has as many as the run."""

MOST_EVENTS_OF_A_REPORT = 20 * MOST_EVENTS
"""The same where a report is made, which people wait for: some seconds of an unfolded run."""

MOST_NODES = 10_000_000
"""How many nodes of distinct traces all removals together may compile."""

MOST_NODES_UNFOLDED = 100_000
"""A removal that cannot be folded, where the run was, is run whole up to so many nodes."""


def gains(result: Result, most_events: int) -> list[Gain] | None:
    """Return what removing each cause gains, by runs without it; None where they cost too much."""
    model, makespan = result.model, max(result.outcome.finish)
    removable = causes(result)
    nodes = sum(len(graph) for graph in model.graphs.distinct)
    if result.events * len(removable) > most_events or nodes * len(removable) > MOST_NODES:
        return None
    found = []
    for kind, label, removal, holds_others in removable:
        ticks = makespan_without(result, removal.causes)
        if ticks is None:
            return None
        found.append(Gain(kind, label, removal.text, makespan - ticks, holds_others))
    return [*found, *gains_of_waits(result)]


def causes(result: Result) -> list[Cause]:
    """Return the causes of time that compete to be what bounds a run, and can be removed by one."""
    return causes_of(result.model, [use.label for use in result.dimension_uses])


def gains_of_waits(result: Result) -> tuple[Gain, Gain]:
    """Return what the causes gain whose removal needs no run."""
    return of_waits(result.model, waits(result.model, result.outcome))


def makespan_without(result: Result, causes: tuple[str, ...]) -> int | None:
    """Return the makespan in ticks without some causes, None where that cannot be run."""
    from yantra.run.simulate import run

    model = compile_without(result.model, {*result.model.without, *causes})
    try:
        relieved = run(model, fold=fold_like(result, model), like=result)
    except (DeadlockError, UnsupportedError):
        return None
    return max(relieved.outcome.finish)


def fold_like(result: Result, model: Model) -> Fold:
    """Return how to fold a variation of a run: like it, and whole only where that is cheap."""
    if not result.outcome.folded:
        return "off"
    return "require" if must_fold(result, model, MOST_NODES_UNFOLDED) else "auto"


def must_fold(result: Result, model: Model, most_nodes: int) -> bool:
    """Return whether a variation of a folded run has more nodes than may be run whole."""
    nodes = sum(len(graph) * ranks for graph, ranks, _ in model.graphs.counted())
    return bool(result.outcome.folded) and nodes > most_nodes
