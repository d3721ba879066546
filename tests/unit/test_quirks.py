"""Every quirk in the smallest scenario in which it acts: both answers, each from its closed form.
`W` is the time of a message (latency + size / bandwidth), `e` the endpoint delay, `R` a local
reduction; all in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.cases import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    Run,
    Write,
    cluster,
    collectives,
    run,
)
from yantra.base.errors import ConfigError, DeadlockError, TraceError, UnsupportedError
from yantra.chakra import CollectiveType, IOInfo, Node, NodeType, TraceBuilder
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Custom,
    Device,
    SharedBus,
    Topology,
)
from yantra.scenario.quirk_stories import STORIES
from yantra.scenario.quirks import ASTRA_SIM, MLSYS26, Quirk

Test = TypeVar("Test", bound=Callable[..., None])

shown: set[Quirk] = set()


def shows(quirk: Quirk) -> Callable[[Test], Test]:
    shown.add(quirk)
    return lambda test: test


def off_and_on(
    quirk: Quirk, topology: Topology, write: Write, *, also: tuple[Quirk, ...] = (), **parts: Any
) -> tuple[Run, Run]:
    return (
        run(topology, write, quirks=also, **parts),
        run(topology, write, quirks=(*also, quirk), **parts),
    )


def one_message(size: int, to: int = 1) -> Write:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.send(to, size)
        elif rank == to:
            trace.recv(0, size)

    return write


def one_collective(kind: CollectiveType, size: int, **options: Any) -> Write:
    return lambda trace, rank: trace.collective(kind, size, **options)


PAIR = cluster(("fully_connected", 2, 8.0, 100.0))


def pair_message(size: int) -> float:
    return 100 + size / 8


@shows(Quirk.WHOLE_NANOSECONDS)
def test_a_delay_is_rounded_to_the_picosecond_or_cut_to_the_nanosecond() -> None:
    topology = cluster(("fully_connected", 2, 3.0, 0.7))
    off, on = off_and_on(Quirk.WHOLE_NANOSECONDS, topology, one_message(1000))
    assert off.outcome.finish[1] == 334_033  # 0.7 + 1000 / 3 = 334.0333 ns, in ps
    assert off.model.ticks_per_ns == 1000
    assert on.outcome.finish[1] == 334
    assert on.model.ticks_per_ns == 1


@shows(Quirk.LOWEST_DIMENSION_ONLY)
def test_a_message_across_dimensions_pays_for_all_of_them_or_for_the_lowest() -> None:
    topology = cluster(("fully_connected", 2, 10.0, 100.0), ("switch", 2, 2.0, 700.0))
    off, on = off_and_on(Quirk.LOWEST_DIMENSION_ONLY, topology, one_message(1000, to=3))
    assert off.finish[3] == 100 + 2 * 700 + 1000 / 2  # all latencies, the narrowest bandwidth
    assert on.finish[3] == 100 + 1000 / 10


@shows(Quirk.SEND_COMPLETES_ON_ARRIVAL)
@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_send_ends_when_the_last_byte_leaves_or_arrives(network: str) -> None:
    off, on = off_and_on(Quirk.SEND_COMPLETES_ON_ARRIVAL, PAIR, one_message(8000), network=network)
    assert off.finish == [8000 / 8, pair_message(8000)]
    assert on.finish == [pair_message(8000), pair_message(8000)]


@shows(Quirk.LINKS_CARRY_ANYTHING)
def test_messages_to_one_rank_share_its_link_or_come_all_at_once() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 2:
            trace.send(2, 8000)
        else:
            trace.recv(0, 8000)
            trace.recv(1, 8000)

    topology = cluster(("switch", 3, 8.0, 50.0))
    off, on = off_and_on(Quirk.LINKS_CARRY_ANYTHING, topology, write)
    assert off.finish[2] == pair_message(8000) + 8000 / 8
    assert on.finish[2] == pair_message(8000)
    assert off.bytes() == on.bytes() == [2 * 8000]
    assert off.warnings == []


@shows(Quirk.PADDED_CHUNKS)
def test_chunks_add_up_to_the_collective_or_are_all_alike() -> None:
    off, on = off_and_on(
        Quirk.PADDED_CHUNKS,
        PAIR,
        one_collective(ALL_GATHER, 802),
        collectives=collectives(chunks=4, endpoint_delay_ns=10),
    )
    assert off.finish == [4 * (2 * 10 + 100) + 802 / 8] * 2
    assert off.bytes() == [2 * 802]
    assert on.finish == [5 * (2 * 10 + pair_message(802 // 4))] * 2  # 802 / 4 = 200, rest 2
    assert on.bytes() == [2 * 5 * 200]


def test_padded_chunks_hold_a_byte_for_every_rank_of_the_system() -> None:
    off, on = off_and_on(
        Quirk.PADDED_CHUNKS,
        cluster(("fully_connected", 8, 8.0, 100.0)),
        lambda trace, rank: rank < 2 and trace.collective(ALL_TO_ALL, 4, group="1"),
        groups=((1, (0, 1)),),
        collectives=collectives(chunks=2),
    )
    assert off.bytes() == [2 * (1 + 1)]
    assert on.bytes() == [2 * (4 + 4)]


@shows(Quirk.HALF_QUEUES)
def test_all_queues_serve_an_all_reduce_or_the_first_half_of_them() -> None:
    """Two chunks, two queues that run one chunk each; a chunk has 3 e + 2 W.

    Side by side, the second is behind the first by the time of its bytes on the link.
    """
    off, on = off_and_on(
        Quirk.HALF_QUEUES,
        PAIR,
        one_collective(ALL_REDUCE, 3200),
        collectives=collectives(
            chunks=2, active_chunks=2, queues_per_dimension=2, endpoint_delay_ns=10
        ),
    )
    chunk = 3 * 10 + 2 * pair_message(800)
    assert off.finish == [chunk + 800 / 8] * 2
    assert on.finish == [2 * chunk] * 2


CUBE = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 3)


@shows(Quirk.PHASES_AS_READY)
def test_phases_start_in_one_order_on_all_ranks_or_as_they_are_ready() -> None:
    """Two chunks of 3200 bytes over three dimensions; rank 0 may come 1 us late.

    In step, dimension 0 works without a pause until the second chunk returns to it: reduce-scatter
    twice, then the first chunk comes back at 1000 and the second at 1300, each for W(1600).
    """

    def write(late: bool) -> Write:
        def steps(trace: TraceBuilder, rank: int) -> None:
            before = trace.compute(duration_micros=1) if late and rank == 0 else ()
            trace.collective(ALL_REDUCE, 6400, after=before)

        return steps

    two_chunks = collectives(dimensions=3, chunks=2)
    scatter_0 = gather_0 = pair_message(1600)
    scatter_1 = gather_1 = pair_message(800)
    reduce_2 = 2 * pair_message(400)
    first_is_back = scatter_0 + scatter_1 + reduce_2 + gather_1
    together = first_is_back + 2 * gather_0
    assert together == 1600
    off, on = off_and_on(Quirk.PHASES_AS_READY, CUBE, write(False), collectives=two_chunks)
    assert off.finish == on.finish == [together] * 8
    at_once = run(CUBE, write(True), collectives=two_chunks, quirks=[Quirk.LINKS_CARRY_ANYTHING])
    assert max(at_once.finish) == 1000 + together
    # What waited for rank 0 goes over its links one after the other.
    in_turn = run(CUBE, write(True), collectives=two_chunks)
    assert 1000 + together <= max(in_turn.finish) <= 1000 + together + 6400 / 8
    with pytest.raises(DeadlockError, match="whose chunks wait for each other"):
        run(CUBE, write(True), collectives=two_chunks, quirks=[Quirk.PHASES_AS_READY])


RING_OF_4 = cluster(("ring", 4, 8.0, 100.0))
MEMORY = Device(memory_bytes_per_s=6e9)  # a reduction of m bytes takes 3 m / 6 ns


@shows(Quirk.UNEVEN_REDUCTIONS)
def test_every_added_byte_is_reduced_once_or_by_counting_hand_overs() -> None:
    """Halving and doubling over four: 5 hand-overs, and a message of each size in both halves."""
    off, on = off_and_on(
        Quirk.UNEVEN_REDUCTIONS,
        cluster(("fully_connected", 4, 8.0, 100.0)),
        one_collective(ALL_REDUCE, 3200),
        collectives=collectives("halving_doubling", endpoint_delay_ns=10),
        device=MEMORY,
    )
    moved = 5 * 10 + 2 * pair_message(1600) + 2 * pair_message(800)
    assert off.finish == [moved + 1600 / 2 + 800 / 2] * 4  # what was received
    assert on.finish == [moved + 800 / 2] * 4  # the next message, one step too few


def test_direct_starts_its_second_half_when_all_is_added_or_when_all_has_come() -> None:
    off, on = off_and_on(
        Quirk.UNEVEN_REDUCTIONS,
        RING_OF_4,
        one_collective(ALL_REDUCE, 3200),
        collectives=collectives("direct", endpoint_delay_ns=10),
        device=MEMORY,
    )
    e, added = 10, 800 / 2
    near, far = 100 + 800 / 8, 2 * 100 + 2 * 800 / 8
    all_added = e + far + e + added
    neighbours_added = e + near + e + added  # by then all three parts have come
    assert off.finish == [all_added + far + e] * 4
    assert on.finish == [max(neighbours_added + far, all_added + near) + e] * 4
    assert off.finish[0] - on.finish[0] == far - near


def test_message_sizes_round_up_or_down() -> None:
    """Three parts of 100 bytes: 34 bytes each hold them all, 33 do not."""
    off, on = off_and_on(
        Quirk.UNEVEN_REDUCTIONS,
        cluster(("ring", 3, 8.0, 100.0)),
        one_collective(REDUCE_SCATTER, 100),
    )
    assert off.finish == [2 * pair_message(34)] * 3
    assert on.finish == [2 * pair_message(33)] * 3


HALF_OF_THE_RING: Any = {
    "groups": ((1, (0, 1)),),
    "collectives": collectives(endpoint_delay_ns=50),
}


@shows(Quirk.GROUP_HAND_OVER)
def test_a_group_hands_over_in_the_endpoint_delay_or_in_10_ns() -> None:
    off, on = off_and_on(
        Quirk.GROUP_HAND_OVER,
        RING_OF_4,
        lambda trace, rank: rank < 2 and trace.collective(ALL_GATHER, 800, group="1"),
        **HALF_OF_THE_RING,
    )
    assert off.finish == [2 * 50 + pair_message(800)] * 2 + [0, 0]
    assert on.finish == [2 * 10 + pair_message(800)] * 2 + [0, 0]


@shows(Quirk.GROUP_RING)
def test_a_group_along_a_dimension_runs_its_algorithm_or_a_flat_ring() -> None:
    """Ranks 0, 2, 4, 6 are a column of dimension 1, where all-gathers are direct."""
    names = collectives(endpoint_delay_ns=10, all_gather=("ring", "direct"), dimensions=2)
    off, on = off_and_on(
        Quirk.GROUP_RING,
        cluster(("fully_connected", 2, 16.0, 5.0), ("fully_connected", 4, 8.0, 100.0)),
        lambda trace, rank: rank % 2 == 0 and trace.collective(ALL_GATHER, 800, group="7"),
        groups=((7, (0, 2, 4, 6)),),
        collectives=names,
    )
    assert off.finish == [2 * 10 + pair_message(800), 0] * 4
    assert on.finish == [4 * 10 + 3 * pair_message(800), 0] * 4


@shows(Quirk.FOUR_DIMENSIONS)
def test_a_collective_that_names_no_dimensions_involves_all_or_four() -> None:
    """Over pairs an all-gather moves 1, 2, 4, ... times the data of a rank, one level a time."""
    five = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 5)
    options = collectives(dimensions=5, endpoint_delay_ns=10, chunks=1)
    off, on = off_and_on(
        Quirk.FOUR_DIMENSIONS, five, one_collective(ALL_GATHER, 8000), collectives=options
    )
    levels = [2 * 10 + pair_message(8000 * 2**at) for at in range(5)]
    assert off.finish == [sum(levels)] * 32
    assert on.finish == [sum(levels[:4])] * 32
    assert on.model.warnings == [
        "collectives of all ranks without involved_dim leave out dimension 4 (fully_connected of "
        "2), as in ASTRA-sim, which involves the first 4; give their nodes involved_dim, or leave "
        "out the quirk four-dimensions"
    ]


@pytest.mark.parametrize("involved", [[True] * 5, [False, True, True, True, True]])
def test_a_collective_that_names_its_dimensions_involves_them(involved: list[bool]) -> None:
    five = cluster(*[("fully_connected", 2, 8.0, 100.0)] * 5)
    options = collectives(dimensions=5)
    write = one_collective(ALL_GATHER, 8000, involved_dim=involved)
    off, on = off_and_on(Quirk.FOUR_DIMENSIONS, five, write, collectives=options)
    assert off.finish == on.finish
    assert on.model.warnings == []


@shows(Quirk.BUS_CHARGES_REDUCTION_TWICE)
def test_the_bus_charges_a_reduction_alone_or_with_the_memory() -> None:
    """Own data crosses the rank's inner bus (I) once; received data there and back, then on again.
    I: 0.0038 ns per byte but the first. Before it goes on, received data is added (P): 1 ns for
    each whole 100 bytes, and 50.
    """
    off, on = off_and_on(
        Quirk.BUS_CHARGES_REDUCTION_TWICE,
        PAIR,
        one_collective(REDUCE_SCATTER, 2 * 2001),
        collectives=collectives(
            shared_bus=SharedBus(l_ns=0, o_ns=0, g_ns=0, big_g_ns_per_byte=0.0)
        ),
        device=Device(memory_bytes_per_s=3e9),
    )
    inner, process, reduction = 2000 * 0.0038, 20 * 1 + 50, 3 * 2001 / 3
    once = 4 * inner + process + pair_message(2001)
    assert [float(end) for end in off.finish] == pytest.approx([once] * 2)
    assert [float(end) for end in on.finish] == pytest.approx([once + reduction] * 2)


@shows(Quirk.SIZES_OF_32_BITS)
def test_sizes_on_the_bus_have_64_bits_or_32() -> None:
    """An all-gather over two: the shard crosses the inner bus twice, at 0.0038 ns per byte."""
    size = 2**32 + 1001
    off, on = off_and_on(
        Quirk.SIZES_OF_32_BITS,
        PAIR,
        one_collective(ALL_GATHER, size),
        collectives=collectives(
            shared_bus=SharedBus(l_ns=0, o_ns=0, g_ns=0, big_g_ns_per_byte=0.0)
        ),
    )
    sent = pair_message(size)
    assert off.finish[0] == pytest.approx(sent + 2 * (2**32 + 1000) * 0.0038)
    assert on.finish[0] == pytest.approx(sent + 2 * 1000 * 0.0038)
    assert off.finish[0] - on.finish[0] > 32e6  # two crossings of 4 GiB


def test_sizes_under_the_rendezvous_protocol_have_64_bits_or_32() -> None:
    """The receiver asks with a control message of 8 KiB."""
    off, on = off_and_on(
        Quirk.SIZES_OF_32_BITS,
        PAIR,
        one_message(2**32 + 1000),
        collectives=collectives(rendezvous=True),
    )
    assert off.finish[1] == pair_message(8192) + pair_message(2**32 + 1000)
    assert on.finish[1] == pair_message(8192) + pair_message(1000)
    assert off.warnings == []
    assert on.warnings == [
        "of 1 message only the low 32 bits of the size are carried, as in ASTRA-sim: 4294968296 "
        "bytes count as 1000 (quirk sizes-of-32-bits)"
    ]


@pytest.mark.parametrize(
    ("size", "is_"), [(2**31, "negative"), (2**32 - 1, "negative"), (2**32, "nothing")]
)
def test_a_size_of_which_32_bits_leave_less_than_nothing_is_refused(size: int, is_: str) -> None:
    options = collectives(rendezvous=True)
    with pytest.raises(UnsupportedError, match=f"{size} bytes from rank 0 to rank 1 .*{is_}"):
        run(PAIR, one_message(size), quirks=[Quirk.SIZES_OF_32_BITS], collectives=options)
    run(PAIR, one_message(size), collectives=options)


def test_the_largest_size_of_31_bits_is_carried_whole() -> None:
    size, options = 2**31 - 1, collectives(rendezvous=True)
    off, on = off_and_on(Quirk.SIZES_OF_32_BITS, PAIR, one_message(size), collectives=options)
    assert off.finish == on.finish and on.warnings == []


@shows(Quirk.MISMATCHED_COLLECTIVES_MEET)
def test_different_collectives_never_meet_or_meet_by_size() -> None:
    """An all-gather of 800 bytes and a reduce-scatter of 1600 both send one message of 800."""

    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(REDUCE_SCATTER if rank else ALL_GATHER, 1600 if rank else 800)

    both_end = [2 * 10 + pair_message(800)] * 2
    options = collectives(endpoint_delay_ns=10)
    with pytest.raises(DeadlockError, match="in whose place rank 1 entered the reduce_scatter"):
        run(PAIR, write, collectives=options)
    on = run(PAIR, write, collectives=options, quirks=[Quirk.MISMATCHED_COLLECTIVES_MEET])
    assert on.finish == both_end
    assert "another collective" in on.warnings[0]


@shows(Quirk.HASH_ORDER_CUSTOM)
def test_a_custom_collective_starts_its_nodes_by_id_or_in_hash_order(tmp_path: Path) -> None:
    """Rank 0 sends 1 (small) and 2 (large) over one link; rank 1 computes when it has 1.

    The file names 2 before 1, and a hash set of such keys is walked in the order of the file.
    """
    small, large, after_small = 800, 8000, 5000
    sender = TraceBuilder(rank=0, first_id=1)
    sender.send(1, small, tag=1)
    sender.send(1, large, tag=2)
    sender.nodes.reverse()
    sender.build().write(tmp_path / "c.0.et")
    receiver = TraceBuilder(rank=1)
    first = receiver.recv(0, small, tag=1)
    receiver.recv(0, large, tag=2)
    receiver.compute(duration_micros=after_small // 1000, after=first)
    receiver.build().write(tmp_path / "c.1.et")
    off, on = off_and_on(
        Quirk.HASH_ORDER_CUSTOM,
        PAIR,
        one_collective(ALL_REDUCE, 1),
        network="store_and_forward",
        collectives=collectives(all_reduce=Custom(prefix=str(tmp_path / "c"))),
    )
    assert off.finish[1] == pair_message(small) + after_small
    assert on.finish[1] == large / 8 + pair_message(small) + after_small


@shows(Quirk.BROADCAST_IS_A_TIMER)
def test_a_broadcast_moves_data_or_takes_its_recorded_time() -> None:
    """From rank 0: hand-over, message, hand-over. Rank 0 ends when its data has left."""
    off, on = off_and_on(
        Quirk.BROADCAST_IS_A_TIMER,
        PAIR,
        one_collective(CollectiveType.BROADCAST, 8000, duration_micros=7),
        collectives=collectives(endpoint_delay_ns=10),
    )
    assert off.finish == [10 + 8000 / 8, 10 + pair_message(8000) + 10]
    assert off.bytes() == [8000]
    assert on.finish == [7000, 7000]
    assert on.bytes() == [0]


def test_a_broadcast_can_move_data_among_all_other_quirks() -> None:
    done = run(
        cluster(*[("fully_connected", 2, 8.0, 100.0)] * 2),
        lambda trace, rank: rank < 3 and trace.collective(CollectiveType.BROADCAST, 80, group="1"),
        groups=((1, (0, 1, 2)),),
        semantics="astra-sim",
        resources=ASTRA_SIM_RESOURCES,
        quirks=ASTRA_SIM - {Quirk.BROADCAST_IS_A_TIMER},
    )
    assert max(done.finish) == 10 + 110 + 10
    assert sum(done.bytes()) == 2 * 80


@shows(Quirk.SKIPPED_NODES_DO_NOT_WAKE)
def test_a_skipped_node_wakes_its_children_or_leaves_them_to_the_next_completion() -> None:
    """The child of an invalid node computes 1 us; the host works 5 us beside it."""

    def write(trace: TraceBuilder, rank: int) -> None:
        nothing = trace.add(Node(0, "nothing", NodeType.INVALID))
        trace.compute(duration_micros=1, after=nothing)
        trace.compute(duration_micros=5, cpu=True)

    off, on = off_and_on(Quirk.SKIPPED_NODES_DO_NOT_WAKE, PAIR, write)
    assert off.finish == [5000, 5000]
    assert on.finish == [5000 + 1000] * 2


@shows(Quirk.NO_DURATION_TAKES_A_NANOSECOND)
def test_a_recorded_duration_of_0_is_no_time_or_a_nanosecond() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute(after=trace.compute(after=trace.compute()))

    off, on = off_and_on(Quirk.NO_DURATION_TAKES_A_NANOSECOND, PAIR, write)
    assert off.finish == [0, 0]
    assert on.finish == [3, 3]


@shows(Quirk.WHOLE_MICROSECONDS)
def test_recorded_nanoseconds_count_or_whole_microseconds_alone() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        exact = trace.compute(duration_micros=1)
        exact["duration_ns"] = 1900
        trace.compute(duration_micros=3, after=exact)

    off, on = off_and_on(Quirk.WHOLE_MICROSECONDS, PAIR, write)
    assert off.finish == [1900 + 3000] * 2
    assert on.finish == [1000 + 3000] * 2


def test_a_custom_collective_counts_nanoseconds_too(tmp_path: Path) -> None:
    for rank in range(2):
        steps = TraceBuilder(rank=rank)
        steps.compute(duration_micros=1)["duration_ns"] = 1900
        steps.build().write(tmp_path / f"c.{rank}.et")
    off, on = off_and_on(
        Quirk.WHOLE_MICROSECONDS,
        PAIR,
        one_collective(ALL_REDUCE, 1),
        collectives=collectives(all_reduce=Custom(prefix=str(tmp_path / "c"))),
    )
    assert off.finish == [1900] * 2
    assert on.finish == [1000] * 2


@pytest.mark.parametrize(
    ("value", "problem"),
    [(1.5, "'duration_ns' is not an integer"), (-1, "'duration_ns' is -1, not a time")],
)
def test_a_wrong_number_of_nanoseconds_is_refused_unless_it_is_not_looked_at(
    value: float, problem: str
) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute(duration_micros=1)["duration_ns"] = value

    assert run(PAIR, write, quirks=[Quirk.WHOLE_MICROSECONDS]).finish == [1000] * 2
    with pytest.raises(TraceError, match=problem):
        run(PAIR, write)


ROOFLINE = Device(peak_flops=1e12, memory_bytes_per_s=2e9, compute="roofline")


@shows(Quirk.ZERO_OP_KERNEL_NEVER_ENDS)
def test_a_kernel_without_operations_takes_its_traffic_or_for_ever() -> None:
    off, on = off_and_on(
        Quirk.ZERO_OP_KERNEL_NEVER_ENDS,
        PAIR,
        lambda trace, rank: trace.compute(num_ops=0, tensor_size=6000),
        device=ROOFLINE,
        also=(Quirk.WHOLE_NANOSECONDS,),
    )
    assert off.finish == [6000 / 2] * 2
    assert on.finish == [2**63] * 2  # 0 / 0, as upstream's conversion to an integer has it


@shows(Quirk.ZERO_BYTE_KERNEL_IS_SKIPPED)
def test_a_kernel_without_traffic_takes_its_operations_or_no_time() -> None:
    off, on = off_and_on(
        Quirk.ZERO_BYTE_KERNEL_IS_SKIPPED,
        PAIR,
        lambda trace, rank: trace.compute(num_ops=3_000_000, tensor_size=0),
        device=ROOFLINE,
    )
    assert off.finish == [3_000_000 / 1000] * 2
    assert on.finish == [0, 0]


def _with_a_cycle(trace: TraceBuilder, rank: int) -> None:
    trace.compute(duration_micros=2)
    trace.add(Node(5, "a", NodeType.COMP, 9, data_deps=(6,)))
    trace.add(Node(6, "b", NodeType.COMP, 9, data_deps=(5,)))


@shows(Quirk.UNREACHABLE_NODES_ARE_DROPPED)
def test_a_cycle_is_refused_or_dropped_with_a_warning() -> None:
    circle = "nodes 5 -> 6 -> 5 wait for each other in a circle; 2 nodes can never run"
    with pytest.raises(TraceError, match=circle):
        run(PAIR, _with_a_cycle)
    on = run(PAIR, _with_a_cycle, quirks=[Quirk.UNREACHABLE_NODES_ARE_DROPPED])
    assert on.finish == [2000, 2000]
    assert "never run, as in ASTRA-sim" in on.model.warnings[0]


def _with_a_duplicate(trace: TraceBuilder, rank: int) -> None:
    first = trace.compute(duration_micros=1)
    second = trace.compute(duration_micros=2)
    trace.nodes.append(Node(9, "old", NodeType.COMP, 50, data_deps=(first.id,)))
    trace.nodes.append(Node(9, "new", NodeType.COMP, 4, data_deps=(second.id,)))


@shows(Quirk.DUPLICATE_IDS_MERGE)
def test_duplicate_ids_are_refused_or_merged_with_a_warning() -> None:
    """Merged, the last body (4 us) waits for both: 1 us and 2 us, one after the other."""
    with pytest.raises(TraceError, match="9"):
        run(PAIR, _with_a_duplicate)
    on = run(PAIR, _with_a_duplicate, quirks=[Quirk.DUPLICATE_IDS_MERGE])
    assert on.finish == [7000, 7000]
    assert on.model.warnings


@shows(Quirk.TUTORIAL_HOTI2024)
def test_a_node_without_is_cpu_op_runs_on_the_device_or_on_the_host() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        kind = {"comm_type": int(ALL_REDUCE), "comm_size": 1600}
        trace.add(Node(0, "all-reduce", NodeType.COMM_COLL, attributes=kind))

    off, on = off_and_on(Quirk.TUTORIAL_HOTI2024, PAIR, write)
    assert off.finish == [2 * pair_message(800)] * 2
    assert on.finish == [0, 0]


@shows(Quirk.COLLECTIVES_START_TOGETHER)
def test_a_collective_holds_the_slot_while_it_waits_or_only_once_all_have_come() -> None:
    """Rank 1 comes 5 us late; a message of rank 0 waits for the slot or goes meanwhile."""

    def write(trace: TraceBuilder, rank: int) -> None:
        late = trace.compute(duration_micros=5) if rank else ()
        trace.collective(ALL_GATHER, 800, after=late)
        if rank:
            trace.recv(0, 8000, after=late)
        else:
            trace.send(1, 8000)

    off, on = off_and_on(
        Quirk.COLLECTIVES_START_TOGETHER,
        PAIR,
        write,
        collectives=collectives(endpoint_delay_ns=10),
        resources=ASTRA_SIM_RESOURCES,
    )
    gathered = 5000 + 2 * 10 + pair_message(800)
    assert off.finish[1] > gathered + 1000  # the message goes after it
    assert on.finish == [gathered] * 2


def test_a_collective_that_some_never_reach_is_a_deadlock_that_names_them() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == 0:
            trace.collective(ALL_GATHER, 800)
        else:
            trace.compute(duration_micros=1)

    with pytest.raises(DeadlockError, match=r"rank 0 waits .* which rank 1 \(finished\) never"):
        run(PAIR, write, quirks=[Quirk.COLLECTIVES_START_TOGETHER])


@shows(Quirk.GROUPS_ARE_RINGS)
def test_a_group_runs_the_algorithm_of_its_kind_or_a_ring() -> None:
    four = cluster(("fully_connected", 4, 8.0, 100.0))
    groups = ((1, (0, 1, 2)),)

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank < 3:
            trace.collective(ALL_REDUCE, 2400, group="1")

    off, on = off_and_on(
        Quirk.GROUPS_ARE_RINGS, four, write, groups=groups, collectives=collectives("direct")
    )
    ring = run(four, write, groups=groups, collectives=collectives("ring"))
    assert on.finish == ring.finish
    assert off.finish != on.finish


@shows(Quirk.GROUPS_BY_NAME_OF_NODES)
def test_groups_come_from_a_file_or_from_nodes_of_a_name() -> None:
    """Group 0 of theirs is a group like any other, here of ranks 1 and 2."""
    three = cluster(("fully_connected", 3, 8.0, 100.0))

    def write(trace: TraceBuilder, rank: int) -> None:
        listed = IOInfo(values='["[{"pg_name": "0", "ranks": [1, 2]}]"]')
        node = Node(0, "## process_group:init ##", NodeType.COMP, 3, inputs=listed)
        node.set("is_cpu_op", False)
        trace.add(node)
        if rank:
            trace.collective(ALL_GATHER, 800, group="0")

    with pytest.raises(DeadlockError, match="never entered"):
        run(three, write)  # 0 is all ranks
    on = run(three, write, quirks=[Quirk.GROUPS_BY_NAME_OF_NODES])
    assert on.finish == [0, pair_message(800), pair_message(800)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "its inputs are no list of process groups"),
        ('["[{"pg_name": "0", "ranks": [7]}]"]', "group 0: expected ranks from 0 to 1, got 7"),
    ],
)
def test_a_list_of_groups_that_is_none_is_refused(text: str, problem: str) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        listed = IOInfo(values=text)
        trace.add(Node(0, "## process_group:init ##", NodeType.COMP, inputs=listed))

    with pytest.raises((TraceError, ConfigError), match=problem):
        run(PAIR, write, quirks=[Quirk.GROUPS_BY_NAME_OF_NODES])


@shows(Quirk.KERNELS_READ_THEIR_INPUTS)
def test_a_kernel_moves_what_it_states_or_its_inputs_too() -> None:
    """At 1 byte per ns, bound by memory; a kernel it only waits for adds nothing."""

    def write(trace: TraceBuilder, rank: int) -> None:
        first = trace.compute(num_ops=1, tensor_size=1000)
        other = trace.compute(num_ops=1, tensor_size=500, after=first)
        last = trace.compute(num_ops=1, tensor_size=300, after=other)
        last.depends_on(first, control=True)

    device = Device(peak_flops=1e15, memory_bytes_per_s=1e9, compute="roofline")
    off, on = off_and_on(Quirk.KERNELS_READ_THEIR_INPUTS, PAIR, write, device=device)
    assert off.finish == [1000 + 500 + 300] * 2
    assert on.finish == [1000 + (500 + 1000) + (300 + 500)] * 2


def test_what_is_not_modelled_of_the_branch_is_refused() -> None:
    for parts in (
        {"replay_only": True},
        {"collectives": collectives().replace(all_reduce=Custom(prefix="x"))},
    ):
        with pytest.raises(UnsupportedError, match="semantics astra-sim@mlsys26"):
            run(PAIR, one_message(8), semantics="astra-sim@mlsys26", **parts)


def test_every_quirk_is_shown_here_and_told_in_the_table() -> None:
    assert shown == set(Quirk)
    assert set(STORIES) == set(Quirk)
    assert set(Quirk) - ASTRA_SIM == {Quirk.TUTORIAL_HOTI2024, *MLSYS26}
