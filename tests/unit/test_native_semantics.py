"""Native semantics: collectives with a root, groups, chunks, large and empty sizes, sends."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from tests.cases import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    Write,
    cluster,
    collectives,
    run,
)
from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, Node, NodeType, TraceBuilder
from yantra.scenario import Collectives, SharedBus, Topology
from yantra.scenario.quirks import Quirk

BROADCAST, REDUCE = CollectiveType.BROADCAST, CollectiveType.REDUCE
GATHER, SCATTER = CollectiveType.GATHER, CollectiveType.SCATTER
BARRIER = CollectiveType.BARRIER
ROOTED = (BROADCAST, REDUCE, GATHER, SCATTER)

GRID = cluster(("fully_connected", 4, 8.0, 100.0), ("fully_connected", 3, 8.0, 100.0))
EIGHT = cluster(("fully_connected", 8, 8.0, 100.0))
RING_OF_8 = cluster(("ring", 8, 8.0, 100.0))
PAIR = cluster(("fully_connected", 2, 8.0, 100.0))
SIZE = 4800


def message(size: float) -> float:
    return 100 + size / 8


def enter(kind: CollectiveType, size: int = SIZE, **options: Any) -> Write:
    return lambda trace, rank: trace.collective(kind, size, **options)


@pytest.mark.parametrize("kind", [BROADCAST, REDUCE])
def test_data_of_one_size_crosses_every_edge_of_the_tree_once(kind: CollectiveType) -> None:
    assert run(GRID, enter(kind)).bytes() == [3 * 3 * SIZE, 2 * SIZE]


def test_a_gather_goes_along_the_outer_dimension_first_while_data_is_small() -> None:
    """Four columns of three move two shards each; then rank 0's row three of three, directly."""
    assert run(GRID, enter(GATHER)).bytes() == [3 * 3 * SIZE, 4 * 2 * SIZE]


def test_a_scatter_goes_along_the_inner_dimension_first() -> None:
    """Rank 0's row moves three quarters; then each column of three two thirds of a quarter."""
    whole = collectives(dimensions=2, chunks=1)
    moved = run(GRID, enter(SCATTER), collectives=whole).bytes()
    assert moved == [3 * SIZE // 4, 4 * 2 * SIZE // 12]


def test_a_broadcast_takes_a_round_for_every_doubling() -> None:
    options = collectives(endpoint_delay_ns=10, chunks=1)
    switch = cluster(("switch", 8, 8.0, 50.0))  # two of its hops are one of EIGHT
    done = run(switch, enter(BROADCAST), collectives=options)
    assert max(done.finish) == 10 + 3 * (message(SIZE) + 10)


def test_over_dimensions_a_broadcast_takes_the_rounds_of_each() -> None:
    options = collectives(endpoint_delay_ns=10, dimensions=2, chunks=1)
    done = run(GRID, enter(BROADCAST), collectives=options)
    column = 10 + SIZE / 8 + message(SIZE) + 10
    assert max(done.finish) == column + (10 + 2 * (message(SIZE) + 10))


@pytest.mark.parametrize("kind", [BROADCAST, REDUCE])
@pytest.mark.parametrize("size", [48, SIZE, 100 * SIZE])
@pytest.mark.parametrize("topology", [EIGHT, GRID, RING_OF_8])
def test_the_chunks_taken_by_default_are_nearly_as_good_as_any(
    kind: CollectiveType, size: int, topology: Topology
) -> None:
    def taken(**chosen: int) -> float:
        options = collectives(endpoint_delay_ns=10, dimensions=len(topology.dimensions), **chosen)
        return float(max(run(topology, enter(kind, size), collectives=options).finish))

    assert taken() <= 1.1 * min(taken(chunks=chunks) for chunks in (1, 2, 4, 8, 16, 32))


@pytest.mark.parametrize("name", ["double_binary_tree", "ring", "pat", "rail_rings2"])
@pytest.mark.parametrize("size", [1 << 10, 1 << 20])
def test_on_one_level_of_which_all_wait_for_all_there_is_one_chunk(name: str, size: int) -> None:
    def finish(**chosen: int) -> list[Fraction]:
        options = collectives(name, endpoint_delay_ns=10, **chosen)
        return run(RING_OF_8, enter(ALL_REDUCE, size), collectives=options).finish

    assert finish() == finish(chunks=1)


def test_a_barrier_is_one_signal_of_no_bytes_up_and_down() -> None:
    options = collectives(chunks=4)
    done = run(EIGHT, enter(BARRIER, 0), collectives=options)
    assert max(done.finish) == 2 * 3 * message(0)
    assert done.outcome.messages == 2 * 7
    assert done.bytes() == [0]


def test_a_barrier_needs_no_size() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        attributes = {"comm_type": int(BARRIER), "is_cpu_op": False}
        trace.add(Node(0, "barrier", NodeType.COMM_COLL, attributes=attributes))

    assert max(run(PAIR, write).finish) == 2 * message(0)


def test_a_barrier_holds_all_ranks_for_the_last() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        before = trace.compute(duration_micros=9) if rank == 5 else ()
        trace.compute(duration_micros=1, after=trace.collective(BARRIER, 0, after=before))

    starts = [run(EIGHT, write).span(rank, 1 + (rank == 5))[0] for rank in range(8)]
    assert min(starts) >= 9000


@pytest.mark.parametrize("kind", [*ROOTED, BARRIER])
def test_a_group_that_spans_no_dimension_runs_every_kind(kind: CollectiveType) -> None:
    """Ranks 1, 2 and 7 of the grid; no algorithm of another kind is asked for."""
    members = (1, 2, 7)

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank in members:
            trace.collective(kind, 2400, group="3")

    done = run(GRID, write, groups=((3, members),), collectives=Collectives())
    assert all((end > 0) == (rank in members) for rank, end in enumerate(done.finish))


def test_a_group_never_takes_another_algorithm_than_the_one_named() -> None:
    def sent(name: str, members: tuple[int, ...]) -> list[int]:
        def write(trace: TraceBuilder, rank: int) -> None:
            if rank in members:
                trace.collective(ALL_REDUCE, SIZE, group="3")

        done = run(EIGHT, write, groups=((3, members),), collectives=collectives(name))
        return [*done.bytes(), done.outcome.messages]

    four, three = (0, 1, 2, 3), (0, 1, 2)
    assert sent("halving_doubling", four) != sent("ring", four)
    assert sent("halving_doubling", three) == sent("ring", three)


def test_the_last_dimension_of_an_all_reduce_needs_no_other_collective() -> None:
    grid = cluster(("ring", 4, 8.0, 100.0), ("fully_connected", 4, 8.0, 100.0))
    names = Collectives(all_reduce=("ring", "double_binary_tree"))
    assert max(run(grid, enter(ALL_REDUCE), collectives=names).finish) > 0
    refused = "all_reduce over dimension 0: double_binary_tree: it performs all_reduce, not"
    for swapped, order in ((True, "ascending"), (False, "themis")):
        first_last = ("double_binary_tree", "ring") if swapped else ("ring", "double_binary_tree")
        where = refused if swapped else refused.replace("dimension 0", "dimension 1")
        with pytest.raises(UnsupportedError, match=where):
            run(
                grid,
                enter(ALL_REDUCE),
                collectives=Collectives(all_reduce=first_last, inter_dimension=order),
            )


def test_a_group_that_spans_dimensions_runs_dimension_by_dimension() -> None:
    cube = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 3)
    plane, square = (0, 1, 4, 5), cluster(*[("fully_connected", 2, 8.0, 100.0)] * 2)

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank in plane:
            trace.collective(ALL_REDUCE, SIZE, group="4")

    done = run(cube, write, groups=((4, plane),))
    alone = run(square, enter(ALL_REDUCE))
    assert [done.finish[rank] for rank in plane] == alone.finish
    in_square = alone.bytes()
    assert done.bytes() == [in_square[0], 0, in_square[1]]


def test_a_group_of_one_rank_is_done_at_once() -> None:
    for kind in (ALL_REDUCE, BROADCAST, BARRIER):
        done = run(
            PAIR,
            lambda trace, rank, kind=kind: rank == 0 and trace.collective(kind, 8, group="1"),  # type: ignore[misc]
            groups=((1, (0,)),),
        )
        assert done.finish == [0, 0]


@pytest.mark.parametrize("chunks", [1, 3, 4, 7])
def test_chunks_of_any_number_add_up_to_the_collective(chunks: int) -> None:
    for size in (1, 2, 5, 1000, 1001, 4097):
        done = run(EIGHT, enter(ALL_GATHER, size), collectives=collectives("direct", chunks=chunks))
        assert done.bytes() == [8 * 7 * size]
        assert done.outcome.messages == 8 * 7 * min(chunks, size)


def test_sizes_beyond_32_bits_stay_exact() -> None:
    size = 2**40 + 8
    done = run(PAIR, enter(ALL_GATHER, size), collectives=collectives(chunks=16))
    assert done.bytes() == [2 * size]
    assert done.finish == [16 * 100 + size / 8] * 2


@pytest.mark.parametrize("kind", [ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, *ROOTED])
@pytest.mark.parametrize("order", ["ascending", "round_robin", "themis", "themis_flex"])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_collectives_of_few_bytes_end(kind: CollectiveType, order: str, size: int) -> None:
    options = collectives(dimensions=2, chunks=4, inter_dimension=order)
    done = run(GRID, enter(kind, size), collectives=options)
    assert max(done.finish) > 0


def test_a_picosecond_is_rounded_not_cut() -> None:
    """2 / 3 ns are 666.67 ps, 1 / 3 ns are 333.33 ps; a sum is rounded once."""
    topology = cluster(("fully_connected", 2, 3.0, 0.0))

    def write(trace: TraceBuilder, rank: int) -> None:
        sizes = (1, 2)
        previous: Any = ()
        for tag, size in enumerate(sizes):
            if rank == 0:
                trace.send(1, size, tag=tag)
            else:
                previous = trace.recv(0, size, tag=tag, after=previous)

    done = run(topology, write)
    assert done.outcome.end.tolist()[2:] == [333, 333 + 667]


BUS = SharedBus(l_ns=2, o_ns=1, g_ns=0, big_g_ns_per_byte=0.5)


def test_a_message_of_no_bytes_crosses_the_shared_bus() -> None:
    hand_over = 2 * (1 + 2 + 1)
    done = run(PAIR, enter(BROADCAST, 0), collectives=collectives(shared_bus=BUS))
    assert done.finish == [hand_over, hand_over + message(0) + hand_over]


def test_a_message_that_upstreams_bus_takes_for_negative_is_refused() -> None:
    size = 3 * 2**30
    with pytest.raises(UnsupportedError, match="a message of 3221225472 bytes on the shared bus"):
        run(
            PAIR,
            enter(ALL_GATHER, size),
            collectives=collectives(shared_bus=BUS),
            quirks=[Quirk.SIZES_OF_32_BITS],
        )


def test_a_message_that_nobody_receives_is_told() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            for tag in (7, 7, 9):
                trace.send(1, 2**20, tag=tag)

    assert run(PAIR, write).warnings == [
        "rank 0 sent a message to rank 1 (tag 7, 1 MiB) that was never received; nor were 2 more "
        "messages"
    ]


def two_sends(trace: TraceBuilder, rank: int) -> None:
    for tag in (1, 2):
        if rank == 0:
            trace.send(1, 8000, tag=tag)
        elif rank == 1:
            trace.recv(0, 8000, tag=tag)


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_sends_leave_one_after_the_other_without_waiting_for_the_wire(network: str) -> None:
    done = run(PAIR, two_sends, network=network)
    assert done.outcome.end.tolist()[:2] == [1_000_000, 2_000_000]
    assert done.outcome.end.tolist()[2:] == [1_100_000, 2_100_000]


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_send_under_rendezvous_ends_when_its_data_has_left(network: str) -> None:
    """The receiver's control message of 8 KiB comes first; here it asks 1 us late."""

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(1, 8000)
        else:
            trace.recv(0, 8000, after=trace.compute(duration_micros=1))

    done = run(PAIR, write, network=network, collectives=collectives(rendezvous=True))
    asked = 1000 + message(8192)
    assert done.finish == [asked + 1000, asked + message(8000)]


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_send_over_several_hops_ends_when_it_has_left_its_first_link(network: str) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(2, 8000)
        if rank == 2:
            trace.recv(0, 8000)

    done = run(RING_OF_8, write, network=network)
    stored = 1000 if network == "store_and_forward" else 0
    assert done.finish[0] == 1000
    assert done.finish[2] == 2 * 100 + 1000 + stored


def test_a_skipped_node_starts_its_children_in_the_same_tick() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        before: Any = ()
        for kind in (NodeType.METADATA, NodeType.INVALID, NodeType.METADATA):
            before = trace.add(Node(len(trace.nodes), "note", kind), after=before)
        trace.compute(duration_micros=1, after=before)

    assert run(PAIR, write).finish == [1000, 1000]
