"""What bounds a run: the cause whose removal gains most, each removed exactly and the job run
again.

Trade-off: a handful of runs for a line; above MOST_EVENTS events or MOST_NODES nodes it is an
estimate and says so.
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
"""Most events of all removals, each taken to have the run's."""

_PACKETS = 16
"""Events of packets that take the time of one of others."""

MOST_EVENTS_OF_A_REPORT = 20 * MOST_EVENTS
"""The same for a report, which people wait for: seconds of an unfolded run."""

MOST_NODES = 10_000_000
"""Most nodes of distinct traces that removals compile."""

MOST_NODES_UNFOLDED = 100_000
"""Most nodes of a folded run's removal to be run whole."""


def gains(result: Result, most_events: int) -> list[Gain] | None:
    """Gain of removing each cause, by runs; None where too costly."""
    model, makespan = result.model, max(result.outcome.finish)
    parts = [cause for cause in causes(result) if not cause.holds_others]
    nodes = sum(len(graph) for graph in model.graphs.distinct)
    events = result.events // (1 if result.outcome.packets is None else _PACKETS)
    if events * len(parts) > most_events or nodes * len(parts) > MOST_NODES:
        return None
    removable = [*causes(result), *_wholes(result)]
    found = []
    for kind, label, removal, holds_others in removable:
        most_nodes = MOST_NODES_UNFOLDED if kind or most_events <= MOST_EVENTS else MOST_NODES
        ticks = makespan_without(result, removal.causes, most_nodes)
        if ticks is None and kind:
            return None
        if ticks is None:
            continue  # no cause: the verdict holds without it
        found.append(Gain(kind, label, removal.text, makespan - ticks, holds_others))
    return [*found, *gains_of_waits(result)]


def _wholes(result: Result) -> list[Cause]:
    return [Cause("", "communication", COMMUNICATION)] if communicates(result.model) else []


def causes(result: Result) -> list[Cause]:
    return causes_of(result.model, [use.label for use in result.dimension_uses])


def gains_of_waits(result: Result) -> tuple[Gain, Gain]:
    return of_waits(result.model, waits(result.model, result.outcome))


def unexplained_gains(result: Result) -> list[Gain]:
    """What time that a recording does not explain takes; empty for others."""
    found = []
    for kind, label, removal, _ in causes(result):
        if kind == "unexplained":
            ticks = makespan_without(result, removal.causes)
            if ticks is not None:
                gain = max(result.outcome.finish) - ticks
                found.append(Gain(kind, label, removal.text, gain))
    return found


def makespan_without(
    result: Result, causes: tuple[str, ...], most_nodes: int = MOST_NODES_UNFOLDED
) -> int | None:
    """Makespan in ticks without some causes, None if it cannot be run.

    Or only whole, with more than `most_nodes` nodes.
    """
    from yantra.run.simulate import run

    model = compile_without(result.model, {*result.model.without, *causes})
    try:
        relieved = run(model, fold=fold_like(result, model, most_nodes), like=result)
    except (DeadlockError, UnsupportedError):
        return None
    return max(relieved.outcome.finish)


def fold_like(result: Result, model: Model, most_nodes: int = MOST_NODES_UNFOLDED) -> Fold:
    if not result.outcome.folded:
        return "off"
    return "require" if must_fold(result, model, most_nodes) else "auto"


def must_fold(result: Result, model: Model, most_nodes: int) -> bool:
    nodes = sum(len(graph) * ranks for graph, ranks, _ in model.graphs.counted())
    return bool(result.outcome.folded) and nodes > most_nodes
