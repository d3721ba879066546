"""Scenario -> Model -> Result: runs the core, and tells why a run cannot finish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yantra import _core
from yantra.callable_module import make_callable
from yantra.compile import Model, compile
from yantra.errors import DeadlockError
from yantra.quirks import Quirk
from yantra.result import Result
from yantra.scenario import Scenario

_EVENTS_PER_SLICE = 1_000_000
_SHOWN = 10

Progress = Callable[[int, int], None]
"""Called now and then with the nodes done and the nodes in all."""


def simulate(scenario: Scenario, *, progress: Progress | None = None) -> Result:
    """Compile a scenario and run it.

    Raises ConfigError, TraceError or UnsupportedError before anything runs, and DeadlockError when
    the run cannot finish.
    """
    return run(compile(scenario), progress=progress)


def run(model: Model, *, progress: Progress | None = None) -> Result:
    """Run a compiled scenario. Any number of runs may share one model."""
    return Result(model, run_native(model, progress))


def run_native(model: Model, progress: Progress | None = None) -> Any:
    """Run a model to its end and return the core's outcome.

    Raises DeadlockError, which names for each unfinished rank its oldest waiting node and what it
    waits for. Interruptible between slices of a million events.
    """
    simulation = _core.Simulation(model.native)
    _run(simulation, model, progress)
    if simulation.mismatch and Quirk.MISMATCHED_COLLECTIVES_MEET in model.quirks:
        model.warnings.append(_mismatch(model, simulation.mismatch))
        simulation = _core.Simulation(model.native, match_by_tag=True)
        _run(simulation, model, progress)
    outcome = simulation.outcome()
    if len(outcome.finish_order) < model.ranks:
        raise DeadlockError(explain(model, outcome))
    return outcome


def _run(simulation: _core.Simulation, model: Model, progress: Progress | None) -> None:
    total = sum(len(model.graphs.of(rank)) for rank in range(model.ranks)) if progress else 0
    simulation.start()
    while not simulation.run_for(_EVENTS_PER_SLICE):
        if progress:
            progress(simulation.nodes_done, total)


def _mismatch(model: Model, mismatch: tuple[int, int, int, int]) -> str:
    rank, node, other_rank, other_node = mismatch
    return (
        f"rank {rank} enters node {_named(model, rank, node)} where rank {other_rank} enters node "
        f"{_named(model, other_rank, other_node)}, another collective; as in ASTRA-sim, their "
        "messages meet wherever sizes are equal"
    )


def _named(model: Model, rank: int, node: int) -> str:
    graph = model.graphs.of(rank)
    return f"{graph.id[node]} '{graph.name(node)}'"


def explain(model: Model, outcome: Any) -> str:
    """Return one line per unfinished rank, the longest waiting first."""
    waiting = outcome.waiting
    lines = [_line(model, outcome, entry) for entry in waiting[:_SHOWN]]
    if len(waiting) > _SHOWN:
        lines.append(f"and {len(waiting) - _SHOWN} more ranks")
    head = f"deadlock: {len(waiting)} of {model.ranks} ranks cannot finish"
    return "\n".join([head, *lines])


def _line(model: Model, outcome: Any, entry: dict[str, Any]) -> str:
    rank, node = entry["rank"], entry["node"]
    if node is None:
        return f"rank {rank} has nodes left, none of which can start"
    graph = model.graphs.of(rank)
    since = entry["since"] / model.ticks_per_ns
    head = f"rank {rank} waits since {since:.0f} ns in node {graph.id[node]} '{graph.name(node)}'"
    if entry["reason"] == _MESSAGE:
        return f"{head} {_message(model, outcome, entry)}"
    if entry["reason"] == _COLLECTIVE:
        return f"{head} {_collective(entry)}"
    return f"{head} for remote memory"


_MESSAGE, _COLLECTIVE = 1, 2


def _message(model: Model, outcome: Any, entry: dict[str, Any]) -> str:
    peer = entry["peer"]
    verb, missing = ("to", "receiving") if entry["sends"] else ("from", "sending")
    text = f"for a message {verb} rank {peer} (tag {entry['tag']}, {entry['bytes']} bytes)"
    if entry["other_bytes"] is not None:
        return f"{text}, whose message of the same tag has {entry['other_bytes']} bytes"
    if entry["other_tag"] is not None:
        return f"{text}, whose message of the same size has tag {entry['other_tag']}"
    if peer in set(outcome.finish_order):
        return f"{text}, which finished without {missing} it"
    return f"{text}, which waits itself"


def _collective(entry: dict[str, Any]) -> str:
    text = f"for a collective of {entry['bytes']} bytes"
    missing = entry["missing"]
    if not missing:
        return f"{text}, which its members entered in different orders or with different sizes"
    shown = ", ".join(map(str, missing[:_SHOWN]))
    more = "" if len(missing) <= _SHOWN else f" and {len(missing) - _SHOWN} more"
    return f"{text} that rank{'s' if len(missing) > 1 else ''} {shown}{more} never entered"


make_callable(__name__)
