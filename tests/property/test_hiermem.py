"""What holds for every pool behind switches: bounds, conserved bytes, tenants that wait."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import identities
from tests.cases import cluster, run, scenario
from yantra.base.fields import Plugin
from yantra.chakra import TraceBuilder
from yantra.memory import model_of
from yantra.memory.hiermem import HierMem, Stage, pipelined
from yantra.memory.model import Hop, Speeds
from yantra.run.simulate import simulate
from yantra.scenario import RemoteMemory, Resources

RANKS = 4
FOUR = cluster(("ring", RANKS, 50.0, 100.0))
TIMES = st.builds(Stage, *[st.floats(0.5, 500)] * 3)
RATES = st.sampled_from([0.5, 1.0, 4.0, 16.0])
BYTES = st.integers(1, 40_000)


def steps(chunks: float, stage: Stage) -> float:
    count = ceil(chunks)
    size = [1.0] * (count - 1) + [chunks - (count - 1)]
    total = 0.0
    for step in range(count + 2):
        at = [step - hop for hop in range(3)]
        busy = [size[chunk] * stage[hop] for hop, chunk in enumerate(at) if 0 <= chunk < count]
        total += max(busy)
    return total


def queues(chunks: float, stage: Stage) -> float:
    count, free = ceil(chunks), [0.0, 0.0, 0.0]
    for chunk in range(count):
        ready, size = 0.0, 1.0 if chunk < count - 1 else chunks - (count - 1)
        for hop in range(3):
            ready = free[hop] = max(ready, free[hop]) + size * stage[hop]
    return free[2]


@given(st.floats(0.01, 40), TIMES)
def test_the_closed_forms_are_the_pipelines(chunks: float, stage: Stage) -> None:
    column = np.array([chunks])
    lockstep = float(pipelined(column, stage, lockstep=True)[0])
    free = float(pipelined(column, stage, lockstep=False)[0])
    assert lockstep == pytest.approx(steps(chunks, stage), rel=1e-9)
    assert free == pytest.approx(queues(chunks, stage), rel=1e-9)
    assert free <= lockstep * (1 + 1e-9)
    assert free >= chunks * max(stage) * (1 - 1e-9)


@given(st.integers(2, 50), TIMES)
def test_lock_step_costs_more_only_where_the_middle_hop_is_the_fastest(
    chunks: int, stage: Stage
) -> None:
    column = np.array([float(chunks)])
    more = pipelined(column, stage, lockstep=True) - pipelined(column, stage, lockstep=False)
    first, second, third = stage
    assert more[0] == pytest.approx(max(min(first, third) - second, 0.0), rel=1e-6, abs=1e-6)


def options(mode: str, gpu_side: float, in_node: float) -> dict[str, Any]:
    return {
        "gpus": RANKS,
        "nodes": 2,
        "memory_groups": 2,
        "out_switches": 2,
        "gpu_side_bytes_per_ns": gpu_side,
        "in_node_bytes_per_ns": in_node,
        "chunk_bytes": 1000,
        "mode": mode,
        "lockstep": False,
    }


@given(st.sampled_from(["remote", "in_switch"]), RATES, RATES, RATES)
def test_every_hop_carries_the_bytes_of_all_gpus(
    mode: str, memory: float, gpu_side: float, in_node: float
) -> None:
    given = options(mode, gpu_side, in_node)
    model = model_of(Plugin(kind="hiermem", options=tuple(given.items())))
    assert isinstance(model, HierMem)
    pipeline = model.pipeline(Speeds(0, memory))
    assert pipeline is not None
    members = {"pool": RANKS, "node": RANKS // 2, "rank": 1}
    for hop, time in zip(pipeline.hops, model.stage(memory), strict=True):
        assert isinstance(hop, Hop)
        moved = members[hop.sharing] * pipeline.chunk_bytes
        assert moved / hop.bytes_per_ns == pytest.approx(time, rel=1e-12)


def ends(writes: Any, rates: tuple[float, float, float], engines: int = 1) -> list[float]:
    given = options("remote", *rates[1:])
    memory = RemoteMemory(
        kind=Plugin(kind="hiermem", options=tuple(given.items())), bytes_per_ns=rates[0]
    )
    done = run(FOUR, writes, memory=memory, resources=Resources(copy_engines=engines))
    return [float(tick) for tick in done.finish]


def loads(*sizes: int, ranks: range = range(RANKS)) -> Any:
    def write(trace: TraceBuilder, rank: int) -> None:
        for size in sizes if rank in ranks else ():
            trace.memory_load(size)
        if rank not in ranks:
            trace.compute(duration_micros=0)

    return write


@given(BYTES, RATES, RATES, RATES)
def test_a_run_of_all_takes_the_free_running_time(
    size: int, memory: float, gpu_side: float, in_node: float
) -> None:
    given = options("remote", gpu_side, in_node)
    model = model_of(Plugin(kind="hiermem", options=tuple(given.items())))
    assert isinstance(model, HierMem)
    alone = pipelined(np.array([size / 1000]), model.stage(memory), lockstep=False)[0]
    assert ends(loads(size), (memory, gpu_side, in_node)) == pytest.approx([alone] * RANKS, abs=0.1)


@given(BYTES, BYTES, RATES, RATES, RATES)
def test_a_second_tenant_makes_nobody_faster_and_loses_no_bandwidth(
    first: int, second: int, memory: float, gpu_side: float, in_node: float
) -> None:
    rates = (memory, gpu_side, in_node)
    alone = ends(loads(first), rates), ends(loads(second), rates)
    both = ends(loads(first, second), rates, engines=2)
    assert both[0] >= max(alone[0][0], alone[1][0]) - 0.1
    # No later than one after the other, and the slowest hop is never idle while work is left.
    assert both[0] <= alone[0][0] + alone[1][0] + 0.1
    slowest = max(4 / (4 * memory), 2 / (2 * gpu_side), 1 / in_node)  # ns per byte of each GPU
    assert both[0] >= (first + second) * slowest - 0.1


@given(st.integers(2, 20), RATES, RATES, RATES)
def test_tenants_of_other_ranks_share_the_memory_s_links(
    chunks: int, memory: float, gpu_side: float, in_node: float
) -> None:
    rates = (memory, gpu_side, in_node)

    def both(trace: TraceBuilder, rank: int) -> None:
        trace.memory_load(1000 * chunks if rank < 2 else 1000 * chunks + 1)  # two groups

    half, whole = ends(loads(1000 * chunks, ranks=range(2)), rates)[0], ends(both, rates)
    assert whole[0] == pytest.approx(half, abs=0.1)  # the first is not held up
    assert whole[2] >= half
    assert whole[2] <= 2 * half + 1000 / min(rates)


@given(BYTES, BYTES, RATES, RATES, RATES)
def test_a_recorded_run_takes_the_same_time_and_adds_up(
    first: int, second: int, memory: float, gpu_side: float, in_node: float
) -> None:
    given = options("remote", gpu_side, in_node)
    pool = RemoteMemory(
        kind=Plugin(kind="hiermem", options=tuple(given.items())), bytes_per_ns=memory
    )
    asked = scenario(FOUR, loads(first, second), memory=pool, resources=Resources(copy_engines=2))
    recorded = simulate(asked, record=True)
    assert recorded.makespan_ns == simulate(asked).makespan_ns
    identities.hold(recorded)
