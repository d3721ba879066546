"""What bounds a run: the cause whose removal gains most.

Each cause is removed exactly and the job run again by the same engine, folded where the run was.
So the first line of a summary agrees with the what-if bounds, always. The causes are chosen such
that none contains another (`yantra.run.removals`): the rate of arithmetic and the bandwidth of
memory, or all kernels where no roofline tells them apart; the bandwidth of each dimension, or of
links of a fabric by label, or all together; latency and hand-overs; remote memory; host work; and
waiting, whose removal needs no run. All communication together is beside them: it contains others
and so names no cause, but says what the best network could gain.

Trade-off: a handful of runs for one line. Where those of the parts would handle more than
MOST_EVENTS events or compile more than MOST_NODES nodes, or a removal of a large folded run cannot
be folded, the bound is an estimate and says so.
"""

from __future__ import annotations

from yantra.base.errors import DeadlockError, UnsupportedError
from yantra.compile import Model, compile_without
from yantra.result import Result
from yantra.result.bound import Gain, of_waits
from yantra.result.waits import waits
from yantra.run.removals import COMMUNICATION, Cause, causes_of, communicates
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
    parts = [cause for cause in causes(result) if not cause.holds_others]
    nodes = sum(len(graph) for graph in model.graphs.distinct)
    if result.events * len(parts) > most_events or nodes * len(parts) > MOST_NODES:
        return None
    removable = [*causes(result), *_wholes(result)]
    found = []
    for kind, label, removal, holds_others in removable:
        most_nodes = MOST_NODES_UNFOLDED if kind or most_events <= MOST_EVENTS else MOST_NODES
        ticks = makespan_without(result, removal.causes, most_nodes)
        if ticks is None and kind:
            return None
        if ticks is None:
            continue  # it is no cause, so the verdict stands without it
        found.append(Gain(kind, label, removal.text, makespan - ticks, holds_others))
    return [*found, *gains_of_waits(result)]


def _wholes(result: Result) -> list[Cause]:
    """Return what is removed to tell what it gains, and contains causes."""
    return [Cause("", "communication", COMMUNICATION)] if communicates(result.model) else []


def causes(result: Result) -> list[Cause]:
    """Return the causes of time that compete to be what bounds a run, and can be removed by one."""
    return causes_of(result.model, [use.label for use in result.dimension_uses])


def gains_of_waits(result: Result) -> tuple[Gain, Gain]:
    """Return what the causes gain whose removal needs no run."""
    return of_waits(result.model, waits(result.model, result.outcome))


def makespan_without(
    result: Result, causes: tuple[str, ...], most_nodes: int = MOST_NODES_UNFOLDED
) -> int | None:
    """Return the makespan in ticks without some causes, None where that cannot be run.

    Or only whole, where the run was folded and all of it has more than `most_nodes` nodes.
    """
    from yantra.run.simulate import run

    model = compile_without(result.model, {*result.model.without, *causes})
    try:
        relieved = run(model, fold=fold_like(result, model, most_nodes), like=result)
    except (DeadlockError, UnsupportedError):
        return None
    return max(relieved.outcome.finish)


def fold_like(result: Result, model: Model, most_nodes: int = MOST_NODES_UNFOLDED) -> Fold:
    """Return how to fold a variation of a run: like it, and whole only where that is cheap."""
    if not result.outcome.folded:
        return "off"
    return "require" if must_fold(result, model, most_nodes) else "auto"


def must_fold(result: Result, model: Model, most_nodes: int) -> bool:
    """Return whether a variation of a folded run has more nodes than may be run whole."""
    nodes = sum(len(graph) * ranks for graph, ranks, _ in model.graphs.counted())
    return bool(result.outcome.folded) and nodes > most_nodes
