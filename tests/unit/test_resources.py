"""What a rank does at once: slots of host, device, copy engines and communicators."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import ALL_GATHER, Run, Write, cluster, collectives, run
from yantra.base.errors import UnsupportedError
from yantra.chakra import Attribute, Metadata, TraceBuilder
from yantra.scenario import ASTRA_SIM_RESOURCES, RemoteMemory, Resources

FOUR = cluster(("fully_connected", 4, 8.0, 100.0))
OF_ASTRA_SIM: dict[str, Any] = {"semantics": "astra-sim", "resources": ASTRA_SIM_RESOURCES}
POOL = RemoteMemory(kind="per_npu", latency_ns=100, bytes_per_ns=8.0)
SHARD = 8000
MESSAGE = 100 + SHARD / 8
GROUPS = ((1, (0, 1)), (2, (0, 2)))


def overlap(first: Run, rank: int, a: int, b: int) -> bool:
    (start_a, end_a), (start_b, end_b) = first.span(rank, a), first.span(rank, b)
    return start_a < end_b and start_b < end_a


def gather_in_each_group(trace: TraceBuilder, rank: int) -> None:
    for group, members in GROUPS:
        if rank in members:
            trace.collective(ALL_GATHER, SHARD, group=str(group))


def test_compute_overlaps_communication() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_GATHER, SHARD)
        trace.compute(duration_micros=1)

    done = run(FOUR, write)
    assert overlap(done, 0, 0, 1)
    assert done.finish == [3 * MESSAGE] * 4


def test_communicators_that_share_a_rank_overlap() -> None:
    done = run(FOUR, gather_in_each_group, groups=GROUPS)
    assert done.finish == [MESSAGE, MESSAGE, MESSAGE, 0]


def test_in_astra_sim_communicators_of_a_rank_take_turns() -> None:
    """Hand-overs in groups take 10 ns. Rank 2's message waits at rank 0, whose turn it is not."""
    done = run(FOUR, gather_in_each_group, groups=GROUPS, **OF_ASTRA_SIM)
    first = 10 + MESSAGE + 10
    assert done.span(0, 0) == (0, first)
    assert done.span(0, 1) == (first, first + 2 * 10)
    assert done.finish == [first + 20, first, first + first, 0]


def test_chunks_of_different_communicators_do_not_queue_behind_each_other() -> None:
    options = collectives(chunks=4)
    done = run(FOUR, gather_in_each_group, groups=GROUPS, collectives=options)
    assert done.finish[0] == 4 * 100 + SHARD / 8


def test_collectives_of_one_communicator_take_turns() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 2:
            trace.collective(ALL_GATHER, SHARD, group="1")
            trace.collective(ALL_GATHER, SHARD, group="1")

    done = run(FOUR, write, groups=GROUPS)
    assert done.finish[:2] == [2 * MESSAGE] * 2
    assert not overlap(done, 0, 0, 1)


def test_a_send_in_a_group_shares_its_slot_with_the_collectives_of_the_group() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 2:
            trace.collective(ALL_GATHER, SHARD, group="1")
        if rank == 0:
            trace.send(3, SHARD, tag=1)["pg_name"] = "1"
            trace.send(3, SHARD, tag=2)
        if rank == 3:
            trace.recv(0, SHARD, tag=1)
            trace.recv(0, SHARD, tag=2)

    done = run(FOUR, write, groups=GROUPS)
    assert done.span(0, 1) == (MESSAGE, MESSAGE + SHARD / 8)
    assert done.span(0, 2) == (0, SHARD / 8)


def send_beside_a_collective(trace: TraceBuilder, rank: int) -> None:
    trace.collective(ALL_GATHER, SHARD)
    if rank == 0:
        trace.send(1, SHARD)
    if rank == 1:
        trace.recv(0, SHARD)


def test_a_send_overlaps_a_collective_and_in_astra_sim_waits_for_it() -> None:
    assert run(FOUR, send_beside_a_collective).span(0, 1) == (0, 2 * SHARD / 8)
    serial = run(FOUR, send_beside_a_collective, **OF_ASTRA_SIM)
    assert serial.span(0, 1) == (3 * MESSAGE, 4 * MESSAGE)


def test_a_receive_needs_no_slot() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.recv(1, 8)
            trace.recv(1, 16)
        if rank == 1:
            trace.send(0, 16)
            trace.send(0, 8)

    for options in ({}, OF_ASTRA_SIM):
        done = run(FOUR, write, **options)
        assert done.span(0, 0)[0] == done.span(0, 1)[0] == 0


def load_beside_a_collective(trace: TraceBuilder, rank: int) -> None:
    trace.collective(ALL_GATHER, SHARD)
    trace.memory_load(SHARD)
    trace.memory_store(SHARD)


@pytest.mark.parametrize("engines", [1, 2])
def test_memory_runs_on_the_copy_engines(engines: int) -> None:
    done = run(
        FOUR, load_beside_a_collective, memory=POOL, resources=Resources(copy_engines=engines)
    )
    assert done.span(0, 1) == (0, MESSAGE)
    assert done.span(0, 2)[0] == (0 if engines == 2 else MESSAGE)


def test_in_astra_sim_memory_waits_for_the_one_slot() -> None:
    done = run(FOUR, load_beside_a_collective, memory=POOL, **OF_ASTRA_SIM)
    gathered = 3 * MESSAGE
    assert done.span(0, 1) == (gathered, gathered + MESSAGE)
    assert done.span(0, 2) == (gathered + MESSAGE, gathered + 2 * MESSAGE)


def three(cpu: bool) -> Write:
    def write(trace: TraceBuilder, rank: int) -> None:
        for micros in (3, 2, 1):
            trace.compute(duration_micros=micros, cpu=cpu)

    return write


@pytest.mark.parametrize("cpu", [False, True])
def test_as_many_kernels_run_as_there_are_streams_and_host_operations_as_slots(cpu: bool) -> None:
    """With two, the third (1 us) follows the second (2 us), and ends with the first (3 us)."""
    limit = "cpu_slots" if cpu else "compute_streams"
    assert run(FOUR, three(cpu)).finish == [6000] * 4
    two = run(FOUR, three(cpu), resources=Resources(**{limit: 2}))
    assert [two.span(0, node) for node in range(3)] == [(0, 3000), (0, 2000), (2000, 3000)]
    assert run(FOUR, three(cpu), resources=Resources(**{limit: 3})).finish == [3000] * 4


def test_host_and_device_work_side_by_side() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute(duration_micros=3)
        trace.compute(duration_micros=2, cpu=True)

    for options in ({}, OF_ASTRA_SIM):
        assert run(FOUR, write, **options).finish == [3000] * 4


def test_a_rank_in_more_groups_than_there_are_slots_is_refused() -> None:
    many = tuple((group, (0, 1)) for group in range(1, 300))
    with pytest.raises(UnsupportedError, match="a rank is in 299 groups"):
        run(FOUR, three(False), groups=many)


def two_threads_and_two_streams(trace: TraceBuilder, rank: int) -> None:
    for _ in range(2):
        trace.compute(duration_micros=3, cpu=True)
        trace.compute(duration_micros=5)


def with_complete_order(trace: TraceBuilder, rank: int) -> None:
    trace.metadata = Metadata("", (Attribute("complete_order", True),))
    two_threads_and_two_streams(trace, rank)


MICROSECOND = 1000


@pytest.mark.parametrize(
    ("options", "finish"),
    [
        ({}, 5),
        ({"resources": Resources(cpu_slots=1)}, 6),
        ({"resources": Resources(compute_streams=1)}, 10),
        (OF_ASTRA_SIM, 10),
        ({"replay_only": True, "resources": Resources(cpu_slots=1, compute_streams=1)}, 5),
        ({"replay_only": True, **OF_ASTRA_SIM}, 5),
    ],
)
def test_slots_hold_back_a_trace_that_orders_itself_only_where_they_are_asked_for(
    options: dict[str, Any], finish: int
) -> None:
    done = run(FOUR, with_complete_order, **options)
    assert done.finish == [finish * MICROSECOND] * 4


@pytest.mark.parametrize("options", [{}, OF_ASTRA_SIM, {"replay_only": True}])
def test_a_trace_that_does_not_order_itself_runs_one_operation_per_slot(
    options: dict[str, Any],
) -> None:
    done = run(FOUR, two_threads_and_two_streams, **options)
    assert done.finish == [10 * MICROSECOND] * 4
