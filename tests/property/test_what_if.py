"""Laws of what-if bounds: where nobody queues, removing a cause never makes a run longer."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import ALL_GATHER, ALL_REDUCE, cluster, collectives, scenario
from tests.oracles.small_workloads import standard
from yantra.base.errors import UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.compile.removal import CAUSES
from yantra.explain import what_if
from yantra.explain.what_if import REMOVALS
from yantra.result.table_names import TABLES
from yantra.run.fold import taken_over
from yantra.run.simulate import run
from yantra.scenario import (
    Collectives,
    Device,
    Dimension,
    RemoteMemory,
    Resources,
    Scenario,
    Templates,
    Topology,
)

RANKS = 4
MANY = Resources(compute_streams=1000, cpu_slots=1000, copy_engines=1000)


def free_job(seed: int) -> Scenario:
    """A random job in which no node waits for a slot, a queue or a link."""
    shared = Random(seed)
    steps = [
        (shared.choice(["reduce", "gather", "pass", "work"]), shared.choice([1, 1000, 65537]))
        for _ in range(6)
    ]

    def write(trace: TraceBuilder, rank: int) -> None:
        own = Random(f"{seed} {rank}")
        last: Any = ()
        for tag, (what, size) in enumerate(steps):
            if what == "reduce":
                last = trace.collective(ALL_REDUCE, size, after=last)
            elif what == "gather":
                last = trace.collective(ALL_GATHER, size, after=last)
            elif what == "pass":
                sent = trace.send((rank + 1) % RANKS, size, tag=tag, after=last)
                got = trace.recv((rank - 1) % RANKS, size, tag=tag, after=last)
                last = [sent, got]
            else:
                kernel = trace.compute(num_ops=size, tensor_size=own.randrange(1, 9), after=last)
                host = trace.compute(duration_micros=own.randrange(3), cpu=True, after=last)
                last = [kernel, host, trace.memory_load(size, after=last)]

    topology = cluster((shared.choice(["ring", "switch", "fully_connected"]), RANKS, 7.0, 12.25))
    return scenario(
        topology,
        write,
        resources=MANY,
        memory=RemoteMemory(kind="per_npu", latency_ns=40, bytes_per_ns=3.0),
        device=Device(compute="roofline", peak_flops=1e10, memory_bytes_per_s=1e9),
        collectives=collectives(shared.choice(["ring", "direct"]), endpoint_delay_ns=9),
    )


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.frozensets(st.sampled_from(CAUSES)), st.sampled_from(CAUSES))
def test_removing_one_more_cause_never_makes_a_free_job_longer(
    seed: int, causes: frozenset[str], one_more: str
) -> None:
    model = compile(free_job(seed))
    before = run(compile_without(model, causes)).makespan_ns
    assert run(compile_without(model, causes | {one_more})).makespan_ns <= before


@settings(max_examples=20)
@given(st.integers(0, 10**6))
def test_without_every_cause_no_time_passes(seed: int) -> None:
    assert run(compile_without(compile(free_job(seed)), CAUSES)).makespan_ns == 0


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_gains_are_those_of_the_runs(seed: int) -> None:
    result = run(compile(free_job(seed)))
    bounds = what_if(result)
    rows = [row for row in bounds.rows if row.causes]  # what waiting costs needs no run
    assert [row.name for row in rows] == [
        one.name for one in REMOVALS if one.applies(result.model.scenario)
    ]
    for row in rows:
        again = run(compile_without(result.model, row.causes)).makespan_ns
        assert row.makespan_ns == again
        assert row.gain_ns == round(result.makespan_ns - again, 3) >= 0
    gains = [row.gain_ns or 0 for row in rows if row.kind]
    if max(gains) > 0:
        assert bounds.best is not None and bounds.next is not None
        assert bounds.best.gain_ns == max(gains)
        assert bounds.next.makespan_ns == bounds.best.makespan_ns
    else:
        assert bounds.best is None and bounds.next is None


def templated(seed: int, tp: int, dp: int, pp: int) -> Scenario:
    rings = [
        Dimension(kind="ring", size=size, bytes_per_ns=7.0 + 10 * at, latency_ns=50.0)
        for at, size in enumerate((tp, dp, pp))
    ]
    algorithms = ("ring",) * len(rings)
    return Scenario(
        workload=Templates(workload=standard(tp, dp, pp, seed=seed)),
        topology=Topology(dimensions=tuple(rings)),
        device=Device(compute="roofline", peak_flops=1e14, memory_bytes_per_s=1e12),
        collectives=Collectives(
            all_reduce=algorithms,
            all_gather=algorithms,
            reduce_scatter=algorithms,
            all_to_all=algorithms,
            endpoint_delay_ns=9,
        ),
    )


def test_classes_taken_over_give_what_the_run_of_all_ranks_gives() -> None:
    taken = 0
    for seed, shape in product(range(12), [(2, 4, 2), (4, 2, 2), (3, 3, 2)]):
        model = compile(templated(seed, *shape))
        try:
            before = run(model, fold="require")
        except UnsupportedError:
            continue
        for cause in CAUSES:
            relieved = compile_without(model, [cause])
            if taken_over(relieved, before) is None:
                continue
            try:
                folded = run(relieved, fold="require", like=before)
            except UnsupportedError:
                continue
            taken += 1
            whole = run(relieved, fold="off")
            for name in TABLES:
                told = folded.table(name).as_dict()
                assert told == whole.table(name).as_dict(), (seed, shape, cause, name)
    assert taken > 100
