"""Model -> outcome: runs the core, shows progress, and tells why a run cannot finish."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from yantra import _core
from yantra.compile import Model
from yantra.deadlock import explain, named
from yantra.errors import DeadlockError
from yantra.quirks import Quirk

_EVENTS_PER_SLICE = 1_000_000

Progress = Callable[[int, int], None]
"""Called now and then with the nodes done and the nodes in all."""


def run_native(model: Model, progress: Progress | None = None) -> Any:
    """Run a model to its end and return the core's outcome.

    Raises DeadlockError, which names for each unfinished rank its oldest waiting node and what it
    waits for. Interruptible between slices of a million events.
    """
    simulation = _core.Simulation(model.native)
    _run(simulation, model, progress)
    if simulation.mismatch and Quirk.MISMATCHED_COLLECTIVES_MEET in model.quirks:
        _warn_once(model, _mismatch(model, simulation.mismatch))
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


def _warn_once(model: Model, warning: str) -> None:
    if warning not in model.warnings:
        model.warnings.append(warning)


def _mismatch(model: Model, mismatch: tuple[int, int, int, int]) -> str:
    rank, node, other_rank, other_node = mismatch
    return (
        f"rank {rank} enters node {named(model, rank, node)} where rank {other_rank} enters node "
        f"{named(model, other_rank, other_node)}, another collective; as in ASTRA-sim, their "
        "messages meet wherever sizes are equal"
    )


def terminal_progress() -> Progress | None:
    """Return a progress bar on standard error if that is a terminal, else None."""
    if not sys.stderr.isatty():
        return None
    from rich.progress import Progress as Bar

    bar = Bar(transient=True)
    task = bar.add_task("simulating", total=None)
    bar.start()

    def show(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        if done >= total:
            bar.stop()

    return show
