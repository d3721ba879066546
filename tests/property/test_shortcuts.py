"""What folded runs do not play event by event changes nothing that they tell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.folded_jobs import folded_case
from tests.oracles.repeated_jobs import repeated_case
from yantra import _core
from yantra.compile import Model, compile
from yantra.folding import find
from yantra.simulate import run_native

CASES, BLOCK = 200, 50
ALL_EVENTS = 1 << 62


def folded(model: Model, *, shortcuts: bool) -> Any:
    """Return the outcome of one rank per class, None where it is not that of all ranks."""
    classes = find(model)
    if classes.refusal:
        return None
    simulation = _core.Simulation(model.native, folding=classes, shortcuts=shortcuts)
    simulation.start()
    assert simulation.run_for(ALL_EVENTS)
    outcome = simulation.outcome()
    told = simulation.tie[0] or simulation.mismatch or not outcome.finished or outcome.unreceived
    return None if told else outcome


def columns(model: Model, outcome: Any) -> tuple[Any, ...]:
    """Return all that an outcome says, by rank and by node."""
    nodes = []
    for rank, first in enumerate(outcome.first_node[: model.ranks]):
        last = first + len(model.graphs.of(rank))
        nodes.append((outcome.start[first:last].tolist(), outcome.end[first:last].tolist()))
    uses = [(use.bytes, use.messages, use.busy_ticks) for use in outcome.dimensions]
    times = outcome.finish.tolist(), outcome.compute_busy.tolist()
    return (*times, nodes, uses, outcome.messages, outcome.last_tick)


@pytest.mark.parametrize("case", [folded_case, repeated_case])
@pytest.mark.parametrize("first", range(0, CASES, BLOCK))
def test_shortcuts_of_folded_runs_change_nothing(case: Any, first: int) -> None:
    used = 0
    for seed in range(first, first + BLOCK):
        model = compile(case(seed))
        short = folded(model, shortcuts=True)
        if short is None:
            continue
        got = columns(model, short)
        assert got == columns(model, run_native(model)), f"case {seed}"
        long = folded(model, shortcuts=False)
        if long is not None:
            assert got == columns(model, long), f"case {seed}"
            used += short.events < long.events
    assert used > BLOCK // 5
