"""What folded runs do not play event by event changes nothing that they tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, scenario
from tests.oracles.folded_runs import ALL_EVENTS, cases, columns, compared, folded
from tests.oracles.repeated_jobs import repeated_case
from yantra import _core
from yantra.chakra import TraceBuilder
from yantra.compile import Model, compile
from yantra.folding import find
from yantra.scenario import Collectives
from yantra.simulate import run_native

# Seeds far up that told mistakes from the core which the first few hundred do not.
TELLING = {"repeated": (1902, 2142)}


@pytest.mark.parametrize(
    ("kind", "seeds"),
    [
        *(("folded", range(first, first + 100)) for first in (0, 100)),
        *(("repeated", range(first, first + 100)) for first in range(0, 500, 100)),
        *(("pipelined", range(first, first + 20)) for first in range(0, 60, 20)),
        *(("sliding", range(first, first + 50)) for first in range(0, 300, 50)),
        *((kind, TELLING[kind]) for kind in TELLING),
    ],
)
def test_shortcuts_of_folded_runs_change_nothing(kind: str, seeds: Sequence[int]) -> None:
    for name, case in cases(kind, seeds):
        compared(compile(case), name)


def test_what_shortcuts_save_does_not_shrink() -> None:
    """More may be folded, skipped and left out than here; less of it is a loss."""
    runs = nodes = events = 0
    for kind, seeds in (("repeated", range(60)), ("pipelined", range(20)), ("sliding", range(60))):
        for _, case in cases(kind, seeds):
            run = folded(compile(case))
            if run is not None:
                runs, nodes, events = runs + 1, nodes + run.skipped, events + run.outcome.events
    assert runs >= 346
    assert nodes >= 17460
    assert events <= 152772


@pytest.mark.parametrize("chunks", [2, 3, 4])
def test_chunks_that_take_turns_are_moved_on_wherever_they_are(chunks: int) -> None:
    """Two stages are apart by a microsecond; a computation beside slides the moment of looking."""
    speeds = ((50.0, 500.0), (37.3, 611.0), (29.1, 733.0))
    topology = cluster(*(("switch", 2, *speed) for speed in speeds))

    def write(trace: TraceBuilder, rank: int, micros: int) -> None:
        last: Any = trace.compute(duration_micros=1)
        for _ in range(20):
            work = trace.compute(duration_micros=5 + rank // 4, after=last)
            done = trace.collective(ALL_REDUCE, 200_000 * chunks, after=work)
            last = [done, trace.compute(duration_micros=micros, after=work)]

    for micros in range(1, 26):
        policies = collectives("ring", dimensions=3, chunks=chunks)
        model = compile(scenario(topology, partial(write, micros=micros), collectives=policies))
        run = compared(model, f"{micros} us")
        assert run is not None
        assert run.skipped >= 60


def simulated(model: Model, *, recorded: bool = False) -> tuple[Any, Any]:
    """Run one rank per class; return the simulation and its outcome, checked against all ranks."""
    kind = _core.RecordedSimulation if recorded else _core.Simulation
    simulation = kind(model.native, folding=find(model))
    simulation.start()
    assert simulation.run_for(ALL_EVENTS)
    outcome = simulation.outcome()
    assert columns(model, outcome) == columns(model, run_native(model))
    return simulation, outcome


@pytest.mark.parametrize("algorithm", ["ring", "direct", "direct3", "halving_doubling"])
def test_a_phase_among_ranks_alike_takes_one_event(algorithm: str) -> None:
    names = dict.fromkeys(("all_reduce", "reduce_scatter", "all_gather"), (algorithm,) * 2)
    model = compile(
        scenario(
            cluster(("switch", 8, 50.0, 500.0), ("ring", 4, 25.0, 700.0)),
            lambda trace, rank: trace.collective(ALL_REDUCE, 1 << 20),
            collectives=Collectives(**names, chunks=4),
        )
    )
    _, outcome = simulated(model)
    assert outcome.events == 4 * 3  # chunks; reduce-scatter, all-reduce, all-gather
    assert simulated(model, recorded=True)[1].events > outcome.events


def microbatches(trace: TraceBuilder, rank: int) -> None:
    """Four stages of four ranks: receive, work, add up within the stage, send on; 60 times."""
    stage, last = rank // 4, ()
    for step in range(60):
        got = trace.recv(rank - 4, 1000, tag=step) if stage > 0 else None
        after = tuple(node for node in (got, last) if node)
        work = trace.compute(duration_micros=3 if stage > 0 else 4, after=after)
        last = trace.collective(ALL_REDUCE, 4096, group=str(1 + stage), after=work)
        if stage < 3:
            trace.send(rank + 4, 1000, tag=step, after=last)


def pipeline() -> Model:
    groups = tuple((1 + stage, tuple(range(4 * stage, 4 * stage + 4))) for stage in range(4))
    topology = cluster(("switch", 4, 50.0, 500.0), ("ring", 4, 25.0, 700.0))
    return compile(scenario(topology, microbatches, groups=groups))


def test_micro_batches_that_repeat_are_skipped_and_their_times_written_down() -> None:
    model = pipeline()
    simulation, outcome = simulated(model)
    assert simulation.nodes_skipped > len(outcome.start) // 2


def test_a_recorded_run_plays_every_event() -> None:
    simulation, _ = simulated(pipeline(), recorded=True)
    assert simulation.nodes_skipped == 0


def test_what_comes_once_among_micro_batches_is_not_skipped() -> None:
    """The 30th of 60 computations takes longer: the run repeats before and behind it."""

    def write(trace: TraceBuilder, rank: int) -> None:
        last: Any = ()
        for step in range(60):
            work = trace.compute(duration_micros=50 if step == 30 else 5, after=last)
            last = trace.collective(ALL_REDUCE, 4096, after=work)

    simulation, outcome = simulated(compile(scenario(cluster(("ring", 8, 50.0, 500.0)), write)))
    assert 0 < simulation.nodes_skipped < 60
    assert outcome.last_tick > 60 * 5_000_000 + 45_000_000


def test_a_contested_slot_is_not_forgotten_for_a_barrier_that_follows() -> None:
    """A send and a receive end in one tick; next comes a look for receipts (case 13519)."""
    model = compile(repeated_case(13519))
    assert not find(model).refusal
    assert folded(model, shortcuts=False) is None
    assert folded(model, shortcuts=True) is None
