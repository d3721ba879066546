"""Runs of one rank per class, with and without shortcuts, compared with runs of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tests.oracles.folded_jobs import folded_case
from tests.oracles.pipelined_jobs import pipelined_cases
from tests.oracles.repeated_jobs import repeated_case
from tests.oracles.sliding_jobs import sliding_cases
from yantra import _core
from yantra.compile import Model
from yantra.run.fold import find
from yantra.run.simulate import run_native
from yantra.scenario import Scenario

ALL_EVENTS = 1 << 62

KINDS: dict[str, Callable[[int], list[Scenario]]] = {
    "folded": lambda seed: [folded_case(seed)],
    "repeated": lambda seed: [repeated_case(seed)],
    "pipelined": lambda seed: pipelined_cases(seed, 8),
    "sliding": lambda seed: sliding_cases(seed, 4),
}


def cases(kind: str, seeds: Iterable[int]) -> Iterator[tuple[str, Scenario]]:
    for seed in seeds:
        for at, case in enumerate(KINDS[kind](seed)):
            yield f"{kind} {seed}, settings {at}", case


class Folded(NamedTuple):
    outcome: Any
    skipped: int


def given_up(simulation: Any, outcome: Any) -> bool:
    found = simulation.tie is not None or simulation.mismatch is not None
    return bool(found or not outcome.finished or outcome.unreceived)


def folded(model: Model, *, shortcuts: bool = True) -> Folded | None:
    """Run one rank per class; None where that is not the run of all ranks."""
    classes = find(model)
    if classes.refusal:
        return None
    simulation = _core.Simulation(model.native, folding=classes, shortcuts=shortcuts)
    simulation.start()
    assert simulation.run_for(ALL_EVENTS)
    outcome = simulation.outcome()
    return None if given_up(simulation, outcome) else Folded(outcome, simulation.nodes_skipped)


def columns(model: Model, outcome: Any) -> tuple[Any, ...]:
    nodes = []
    for rank, first in enumerate(outcome.first_node[: model.ranks]):
        last = first + len(model.graphs.of(rank))
        nodes.append((outcome.start[first:last].tolist(), outcome.end[first:last].tolist()))
    uses = [(use.bytes, use.messages, use.busy_ticks) for use in outcome.dimensions]
    times = outcome.finish.tolist(), outcome.compute_busy.tolist()
    return (*times, nodes, uses, outcome.messages, outcome.last_tick)


def compared(model: Model, name: str) -> Folded | None:
    short = folded(model)
    if short is None:
        return None
    got = columns(model, short.outcome)
    assert got == columns(model, run_native(model)), name
    long = folded(model, shortcuts=False)
    if long is not None:
        assert got == columns(model, long.outcome), name
        # A phase that somebody waits for is known first and then played, which takes a few more.
        assert short.outcome.events <= 1.1 * long.outcome.events + 10, name
    return short
