"""What folded runs do not play event by event changes nothing in their results."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, scenario
from tests.oracles.folded_runs import ALL_EVENTS, cases, columns, compared, folded
from tests.oracles.repeated_jobs import repeated_case
from yantra import _core
from yantra.chakra import TraceBuilder
from yantra.compile import Model, compile
from yantra.run.fold import find
from yantra.run.simulate import run_native
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Scenario,
    Templates,
    cluster_parts,
)
from yantra.scenario.quirks import Quirk
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

# Blocks of seeds, and the least that is saved in each: runs that are folded, nodes that are
# skipped, events that are played. Less is a loss that no time would show.
BLOCKS = (
    ("folded", range(100), 70, 0, 3176),
    ("folded", range(100, 200), 68, 0, 5651),
    ("repeated", range(100), 66, 1885, 34667),
    ("repeated", range(100, 200), 74, 1494, 33372),
    ("repeated", range(200, 300), 63, 871, 29991),
    ("repeated", range(300, 400), 72, 1715, 57810),
    ("repeated", range(400, 500), 69, 2549, 73517),
    ("pipelined", range(20), 93, 10038, 41780),
    ("pipelined", range(20, 40), 111, 3028, 19319),
    ("pipelined", range(40, 60), 55, 3304, 8663),
    ("sliding", range(50), 184, 5078, 307789),
    ("sliding", range(50, 100), 179, 3769, 186649),
    ("sliding", range(100, 150), 188, 6656, 135068),
    ("sliding", range(150, 200), 183, 6000, 150525),
    ("sliding", range(200, 250), 182, 4870, 176474),
    ("sliding", range(250, 300), 179, 3692, 177422),
)
TELLING = (
    ("repeated", (535, 1902, 2142), 3, 64, 89),
    ("pipelined", (85, 196), 10, 590, 4758),
    ("sliding", (520, 653), 7, 711, 14689),
)


def saved(kind: str, seeds: Sequence[int]) -> tuple[int, int, int]:
    runs = [compared(compile(case), name) for name, case in cases(kind, seeds)]
    folded = [run for run in runs if run is not None]
    return len(folded), sum(r.skipped for r in folded), sum(r.outcome.events for r in folded)


@pytest.mark.parametrize(
    ("kind", "seeds", "runs", "skipped", "events"),
    [pytest.param(*block, id=f"{block[0]}-{block[1][0]}") for block in (*BLOCKS, *TELLING)],
)
def test_shortcuts_of_folded_runs_change_nothing_and_save_what_they_did(
    kind: str, seeds: Sequence[int], runs: int, skipped: int, events: int
) -> None:
    now = saved(kind, seeds)
    assert now[0] >= runs
    assert now[1] >= skipped
    assert now[0] > runs or now[2] <= events


def test_dimensions_take_turns_where_collectives_have_fewer_levels_than_others() -> None:
    for name, case in cases("repeated", range(3_000_320, 3_000_321)):
        assert case.collectives.inter_dimension == "round_robin"
        assert compared(compile(case), name) is not None


def test_trees_that_take_turns_with_their_mirrors_are_skipped_by_two() -> None:
    def write(trace: TraceBuilder, rank: int, micros: int, more: int) -> None:
        last: Any = ()
        for _ in range(24):
            if rank < 4:
                last = trace.collective(ALL_REDUCE, 1000, group="1", after=last)
            micros_here = micros + more if rank == 3 else micros
            last = trace.compute(duration_micros=micros_here, after=last)

    skipped = 0
    for micros, more in product(range(2, 9), range(4)):
        model = compile(
            scenario(
                cluster(("switch", 24, 50.0, 500.0)),
                partial(write, micros=micros, more=more),
                semantics="astra-sim",
                groups=((1, (0, 1, 2, 3)),),
                collectives=Collectives(all_reduce=("doubleBinaryTree",), chunks=1),
                resources=ASTRA_SIM_RESOURCES,
            )
        )
        run = compared(model, f"{micros} us and {more}")
        assert run is not None
        skipped += run.skipped
    assert skipped >= 512


@pytest.mark.parametrize("chunks", [2, 3, 4])
def test_chunks_that_take_turns_are_moved_on_wherever_they_are(chunks: int) -> None:
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
            cluster(("switch", 8, 50.0, 500.0), ("switch", 4, 25.0, 700.0)),
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


@pytest.mark.parametrize("micros", [10, 20, 40])
def test_receives_posted_in_the_tick_of_the_state_kept_have_waited_since_then(micros: int) -> None:
    """The senders are looked at every 10 us; all receives are posted in the tick of one look."""

    def write(trace: TraceBuilder, rank: int) -> None:
        last: Any = ()
        begin = trace.compute(duration_micros=micros) if rank >= 8 else ()
        for step in range(60):
            if rank < 8:
                work = trace.compute(duration_micros=5, after=last)
                trace.send(rank + 8, 1000, tag=step, after=work)
                last = trace.compute(duration_micros=5, after=work)
            else:
                trace.recv(rank - 8, 1000, tag=step, after=begin)

    model = compile(scenario(cluster(("switch", 16, 50.0, 500.0)), write))
    run = compared(model, f"{micros} us")
    assert run is not None
    assert run.skipped >= 200


def turns(nodes: int) -> Model:
    def write(trace: TraceBuilder, rank: int) -> None:
        last: Any = ()
        for at in range(nodes):
            if at % 2 == 0:
                last = trace.compute(duration_micros=5, after=last)
            else:
                last = trace.collective(ALL_REDUCE, 4096, after=last)

    return compile(scenario(cluster(("ring", 8, 50.0, 500.0)), write))


def test_a_job_of_few_nodes_is_played_and_one_of_24_is_skipped() -> None:
    assert simulated(turns(23))[0].nodes_skipped == 0
    assert simulated(turns(24))[0].nodes_skipped > 0


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


@pytest.mark.parametrize(
    "plan", [Plan(tp=4, dp=4, global_batch=8), Plan(tp=2, pp=2, dp=4, global_batch=16, zero=1)]
)
def test_chunks_of_a_group_that_follow_each_other_are_one_event(plan: Plan) -> None:
    workload = Templates(workload=train("llama3-8b", plan, 512))
    parts = cluster_parts("hgx-h100", plan.ranks)
    assert compared(compile(Scenario(workload=workload, **parts)), "ports") is not None
    free = frozenset({Quirk.LINKS_CARRY_ANYTHING})  # nobody meets a phase and has it played
    several = Scenario(workload=workload, quirks=free, **parts)
    several = several.replace(collectives=several.collectives.replace(chunks=4))
    one = several.replace(collectives=several.collectives.replace(chunks=1))
    events = []
    for case in (one, several):
        run = compared(compile(case), str(case.collectives.chunks))
        assert run is not None
        events.append(run.outcome.events)
    assert events[1] < 1.02 * events[0] + 2000
    uneven = several.replace(collectives=several.collectives.replace(chunks=3))
    assert compared(compile(uneven), "uneven") is not None


@pytest.mark.parametrize("level", ["analytical", "store_and_forward"])
@pytest.mark.parametrize("size", [3, 8, 33, 64])
@pytest.mark.parametrize("chunks", [1, 4])
def test_rounds_that_are_passed_at_once_change_nothing(level: str, size: int, chunks: int) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        work = trace.compute(duration_micros=1)
        trace.collective(ALL_REDUCE, 1 << 20, after=[work])
        trace.compute(duration_micros=40 if rank == 1 else 3, after=[work])

    policies = collectives("ring", chunks=chunks)
    topology = cluster(("ring", size, 50.0, 500.0))
    model = compile(scenario(topology, write, collectives=policies, network=level))
    told = []
    for shortcuts in (True, False):
        simulation = _core.Simulation(model.native, shortcuts=shortcuts)
        simulation.start()
        assert simulation.run_for(ALL_EVENTS)
        outcome = simulation.outcome()
        told.append((*columns(model, outcome), outcome.events))
    assert told[0] == told[1]
