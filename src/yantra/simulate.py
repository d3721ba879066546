"""Scenario -> Model -> Result: runs the core, and tells why a run cannot finish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yantra import _core, folding
from yantra.callable_module import make_callable
from yantra.compile import Model, compile
from yantra.deadlock import explain, named
from yantra.errors import DeadlockError, UnsupportedError
from yantra.quirks import Quirk
from yantra.result import Result
from yantra.scenario import Scenario
from yantra.scenario.types import Fold
from yantra.units import format_size

_EVENTS_PER_SLICE = 1_000_000

Progress = Callable[[int, int], None]
"""Called now and then with the nodes done and the nodes in all."""


def simulate(scenario: Scenario, *, progress: Progress | None = None) -> Result:
    """Compile a scenario and run it, folded where its `fold` allows.

    Raises ConfigError, TraceError or UnsupportedError before anything runs, and DeadlockError when
    the run cannot finish.
    """
    return run(compile(scenario), progress=progress)


def run(model: Model, *, progress: Progress | None = None, fold: Fold | None = None) -> Result:
    """Run a compiled scenario. Any number of runs may share one model.

    `fold`, if given, comes before the scenario's: with `auto` one rank stands for all that do the
    same where that is known to change nothing and worth the while; `require` raises
    UnsupportedError where it is not known.
    """
    wanted = fold or model.scenario.fold
    reason = ""
    if wanted != "off":
        outcome, reason = _run_folded(model, progress, always=wanted == "require")
        if outcome is not None:
            return Result(model, outcome)
    if wanted == "require":
        raise UnsupportedError(f"fold: require, but the run cannot be folded: {reason}")
    warnings: list[str] = []
    outcome = run_native(model, progress, warnings)
    return Result(model, outcome, tuple(warnings), reason)


def _run_folded(model: Model, progress: Progress | None, *, always: bool) -> tuple[Any, str]:
    """Return the outcome of one rank per class, or None and why it is not that of all ranks.

    A run that ends with something to tell, a deadlock or a message nobody received, tells it of
    all ranks.
    """
    classes = folding.find(model, 2 if always else folding.WORTH)
    if classes.refusal:
        return None, classes.refusal
    simulation = _core.Simulation(model.native, folding=classes)
    ranks = list(classes.representative) if progress else ()
    _run(simulation, sum(len(model.graphs.of(rank)) for rank in ranks), progress)
    if simulation.tie[0]:
        return None, folding.tie(model, classes, simulation.tie)
    outcome = simulation.outcome()
    if simulation.mismatch or not outcome.finished or outcome.unreceived:
        return None, "it ends with something to tell of single ranks"
    return outcome, ""


def run_native(
    model: Model, progress: Progress | None = None, warnings: list[str] | None = None
) -> Any:
    """Run a model to its end and return the core's outcome.

    What only the run could find worth telling is added to `warnings`. Raises DeadlockError, which
    names for each unfinished rank its oldest waiting node and what it waits for. Interruptible
    between slices of a million events.
    """
    total = sum(len(model.graphs.of(rank)) for rank in range(model.ranks)) if progress else 0
    simulation = _core.Simulation(model.native)
    _run(simulation, total, progress)
    if simulation.mismatch and Quirk.MISMATCHED_COLLECTIVES_MEET in model.quirks:
        if warnings is not None:
            warnings.append(_mismatch(model, simulation.mismatch))
        simulation = _core.Simulation(model.native, match_by_tag=True)
        _run(simulation, total, progress)
    outcome = simulation.outcome()
    if len(outcome.finish_order) < model.ranks:
        raise DeadlockError(explain(model, outcome))
    if warnings is not None and outcome.unreceived:
        warnings.append(_unreceived(outcome.unreceived))
    return outcome


def _run(simulation: _core.Simulation, total: int, progress: Progress | None) -> None:
    try:
        simulation.start()
        while not simulation.run_for(_EVENTS_PER_SLICE):
            if progress:
                progress(simulation.nodes_done, total)
    except _core.Unsupported as error:
        raise UnsupportedError(str(error)) from None


def _mismatch(model: Model, mismatch: tuple[int, int, int, int]) -> str:
    rank, node, other_rank, other_node = mismatch
    return (
        f"rank {rank} enters node {named(model, rank, node)} where rank {other_rank} enters node "
        f"{named(model, other_rank, other_node)}, another collective; as in ASTRA-sim, their "
        "messages meet wherever sizes are equal"
    )


def _unreceived(messages: list[tuple[int, int, int, int]]) -> str:
    src, dst, tag, size = messages[0]
    others = f"; so were {len(messages) - 1} more messages" if len(messages) > 1 else ""
    return (
        f"rank {src} sent a message to rank {dst} (tag {tag}, {format_size(size)}) that was never "
        f"received{others}"
    )


make_callable(__name__)
