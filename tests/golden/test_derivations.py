"""ASTRA-sim's ticks derived by hand: each test computes the expected number, then simulates.

Every number follows from the behaviour of ASTRA-sim 2 (master 518bd51) and was confirmed by its
binaries. The vocabulary, all in whole nanoseconds:

    e   the hand-over of a message between network and memory, `endpoint-delay`
    W   a message alone on the network: hops * latency + size / bandwidth, truncated
    R   the local reduction of a message: one write and two reads, each truncated

GB/s is 2^30 bytes/s on a link and 10^9 bytes/s in memory. A ring of n spends, per chunk,
2n-1 hand-overs, 2(n-1) messages and n-1 reductions on an all-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from yantra.base.errors import UnsupportedError
from yantra.chakra import CollectiveType, Trace, TraceBuilder
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Custom,
    Device,
    Dimension,
    RemoteMemory,
    Scenario,
    Topology,
    Traces,
)

MIB = 1 << 20
AR, AG = CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER
RS, A2A = CollectiveType.REDUCE_SCATTER, CollectiveType.ALL_TO_ALL
UNAWARE, AWARE = "analytical", "store_and_forward"
both = pytest.mark.parametrize("network", [UNAWARE, AWARE])

e = 10


def link_bytes_per_ns(gb_per_s: float) -> float:
    return gb_per_s * 1073741824 / 1000000000


def dimension(kind: Any, size: int, gb_per_s: float, latency_ns: float) -> Dimension:
    return Dimension(
        kind=kind, size=size, bytes_per_ns=link_bytes_per_ns(gb_per_s), latency_ns=latency_ns
    )


def ring(size: int) -> Dimension:
    return dimension("ring", size, 50, 500)


def message_ns(size: int, gb_per_s: float = 50, latency_ns: float = 500, hops: int = 1) -> int:
    return int(hops * latency_ns + size / link_bytes_per_ns(gb_per_s))


def serialisation_ns(size: int, gb_per_s: float = 50) -> int:
    return int(size / link_bytes_per_ns(gb_per_s))


def reduction_ns(size: int, memory_gb_per_s: float) -> int:
    return 3 * int(size / (memory_gb_per_s * 1e9) * 1e9)


def everywhere(name: str) -> dict[str, Any]:
    """Return one algorithm for the four collectives, in every dimension (`ring,direct`)."""
    return dict.fromkeys(
        ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"), tuple(name.split(","))
    )


def simulate(
    dimensions: Iterable[Dimension],
    traces: Trace | list[Trace],
    *,
    algorithm: str = "ring",
    network: str = UNAWARE,
    memory_gb_per_s: float = 1600,
    groups: dict[int, tuple[int, ...]] | None = None,
    remote: RemoteMemory | None = None,
    replay_only: bool = False,
    custom: Custom | None = None,
    **collectives: Any,
) -> Any:
    topology = Topology(dimensions=tuple(dimensions))
    alike = [traces] * topology.ranks if isinstance(traces, Trace) else traces
    chosen = everywhere(algorithm) | ({"all_reduce": custom} if custom else {})
    scenario = Scenario(
        workload=Traces(traces=tuple(alike), groups=tuple(sorted((groups or {}).items()))),
        topology=topology,
        device=Device(memory_bytes_per_s=memory_gb_per_s * 1e9),
        memory=remote or RemoteMemory(),
        network=network,  # type: ignore[arg-type]
        collectives=Collectives(**chosen, **collectives),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
        replay_only=replay_only,
    )
    return run_native(compile(scenario))


def one(type: CollectiveType, size: int, **details: Any) -> Trace:
    step = TraceBuilder()
    step.collective(type, size, **details)
    return step.build()


def ticks(outcome: Any) -> list[int]:
    return list(outcome.finish)


def all_equal(outcome: Any) -> int:
    (tick,) = set(ticks(outcome))
    return int(tick)


@both
@pytest.mark.parametrize(("memory_gb_per_s", "recorded"), [(50, 117780), (1600, 64440)])
def test_ring_all_reduce_of_a_mebibyte_over_eight_ranks(
    network: str, memory_gb_per_s: int, recorded: int
) -> None:
    n, chunks = 8, 4
    m = MIB // chunks // n
    W, R = message_ns(m), reduction_ns(m, memory_gb_per_s)
    assert W == 1110
    assert {50: 1965, 1600: 60}[memory_gb_per_s] == R
    chunk = (2 * n - 1) * e + 2 * (n - 1) * W + (n - 1) * R
    assert chunks * chunk == recorded
    outcome = simulate(
        [ring(n)],
        one(AR, MIB),
        network=network,
        memory_gb_per_s=memory_gb_per_s,
        chunks=chunks,
    )
    assert ticks(outcome) == [recorded] * n
    assert list(outcome.finish_order) == list(range(n))


@both
def test_ring_all_gather_sends_the_whole_shard_at_every_step(network: str) -> None:
    n, chunks = 16, 4
    W = message_ns(MIB // chunks)
    assert W == 5382
    assert chunks * (n * e + (n - 1) * W) == 323560
    outcome = simulate([ring(n)], one(AG, MIB), network=network, chunks=chunks)
    assert all_equal(outcome) == 323560
    assert outcome.finish_order[0] == 12  # ties follow the order in which events were scheduled


def test_two_chunks_on_a_switch_wait_for_each_other_once() -> None:
    n, chunks, gb, latency = 8, 4, 400, 936.25
    m = MIB // chunks // n
    busy = serialisation_ns(m, gb)
    hop = message_ns(m, gb, latency)
    R = reduction_ns(m, 3350)
    assert (busy, hop, R) == (76, 1012, 27)
    alone = (2 * n - 1) * e + 2 * (n - 1) * (2 * hop) + (n - 1) * R
    assert alone == 28675
    behind = alone + busy  # the second chunk waits for the first uplink, then stays behind it
    expected = behind + alone + busy - busy  # the fourth follows the second and never waits
    assert expected == 57426
    port = dimension("switch", n, gb, latency)
    inputs: dict[str, Any] = {"memory_gb_per_s": 3350, "chunks": chunks, "active_chunks": 2}
    assert all_equal(simulate([port], one(AR, MIB), network=AWARE, **inputs)) == 57426
    W = message_ns(m, gb, latency, hops=2)
    unhindered = (2 * n - 1) * e + 2 * (n - 1) * W + (n - 1) * R
    assert all_equal(simulate([port], one(AR, MIB), **inputs)) == chunks // 2 * unhindered


@pytest.mark.parametrize(("shape", "recorded"), [("local_bw_aware", 46676), ("baseline", 76702)])
def test_all_reduce_over_a_ring_and_a_switch(shape: str, recorded: int) -> None:
    def all_reduce(n: int, size: int, gb: float, latency: float, hops: int) -> int:
        m = size // n
        W, R = message_ns(m, gb, latency, hops), reduction_ns(m, 1600)
        return (2 * n - 1) * e + 2 * (n - 1) * W + (n - 1) * R

    if shape == "baseline":
        expected = all_reduce(4, MIB, 50, 500, 1) + all_reduce(2, MIB, 25, 700, 2)
    else:
        W, R = message_ns(MIB // 4), reduction_ns(MIB // 4, 1600)
        scatter = 4 * e + 3 * W + 3 * R
        gather = 4 * e + 3 * W
        between = all_reduce(2, MIB // 4, 25, 700, 2)
        assert (scatter, between, gather) == (17653, 12837, 16186)
        expected = scatter + between + gather
    assert expected == recorded
    dimensions = [ring(4), dimension("switch", 2, 25, 700)]
    outcome = simulate(dimensions, one(AR, MIB), algorithm="ring,ring", all_reduce_shape=shape)
    assert all_equal(outcome) == recorded


@both
def test_direct_all_reduce_waits_for_all_contributions(network: str) -> None:
    n = 4
    m = MIB // n
    W, R = message_ns(m), reduction_ns(m, 1600)
    received = e + W
    spread = received + e + R  # the three hand-overs run side by side
    assert spread + W + e == 11283
    block = dimension("fully_connected", n, 50, 500)
    assert all_equal(simulate([block], one(AR, MIB), algorithm="direct", network=network)) == 11283


@both
def test_double_binary_tree_carries_the_whole_chunk_on_every_edge(network: str) -> None:
    """The tree is 3 over 1 over 0 and 2; the way down is charged a reduction at rank 1."""
    W, R = message_ns(MIB), reduction_ns(MIB, 1600)
    assert (W, R) == (20031, 1965)
    root = (e + W) + (e + R) + W + (e + R)
    between = root + W + (e + R)
    leaf = between + W + e
    assert (root, between, leaf) == (44022, 66028, 86069)
    block = dimension("fully_connected", 4, 50, 500)
    outcome = simulate([block], one(AR, MIB), algorithm="doubleBinaryTree", network=network)
    assert ticks(outcome) == [leaf, between, leaf, root]


@both
def test_halving_doubling_is_charged_all_but_one_reduction(network: str) -> None:
    sizes = [MIB // 2, MIB // 4, MIB // 8]
    there_and_back = 2 * sum(message_ns(size) for size in sizes)
    charged = sum(reduction_ns(size, 1600) for size in sizes[1:])  # of the next message's size
    assert 7 * e + there_and_back + charged == 37978
    block = dimension("fully_connected", 8, 50, 500)
    outcome = simulate([block], one(AR, MIB), algorithm="halvingDoubling", network=network)
    assert all_equal(outcome) == 37978


def test_direct_all_to_all_fills_the_ports_of_a_switch() -> None:
    n = 4
    m = MIB // n
    hop, busy = message_ns(m), serialisation_ns(m)
    assert (hop, busy) == (5382, 4882)
    first_at_switch = e + hop
    last_sent_down = first_at_switch + 2 * busy  # the third message of a downlink
    assert last_sent_down + hop + e == 20548
    port = dimension("switch", n, 50, 500)
    trace = one(A2A, MIB)
    assert all_equal(simulate([port], trace, algorithm="direct", network=AWARE)) == 20548
    assert all_equal(simulate([port], trace, algorithm="direct")) == 2 * e + message_ns(m, hops=2)


@both
def test_custom_ring_is_a_chain_of_sends_and_kernels(network: str, tmp_path: Path) -> None:
    """35 nodes: 14 times send and receive, a kernel of 7 us after each of the first 7."""
    n, m = 8, MIB // 8
    for position in range(n):
        steps = TraceBuilder(rank=position)
        last: Any = ()
        for step in range(2 * (n - 1)):
            last = steps.send((position + 1) % n, m, tag=step, after=last)
            last = steps.recv((position - 1) % n, m, tag=step, after=last)
            if step < n - 1:
                last = steps.compute(duration_micros=7, after=last)
        assert len(steps.nodes) == 35
        steps.build().write(tmp_path / f"ring.{position}.et")
    expected = 2 * (n - 1) * message_ns(m) + (n - 1) * 7000
    assert expected == 90174
    custom = Custom(prefix=str(tmp_path / "ring"))
    assert all_equal(simulate([ring(n)], one(AR, MIB), network=network, custom=custom)) == 90174


@both
def test_one_byte_more_than_the_chunks_hold_is_one_chunk_more(network: str) -> None:
    n, chunks = 4, 4
    m = MIB // chunks // n
    chunk = (2 * n - 1) * e + 2 * (n - 1) * message_ns(m) + (n - 1) * reduction_ns(m, 1600)
    assert (chunks + 1) * chunk == 53750
    outcome = simulate([ring(n)], one(AR, MIB + 1), network=network, chunks=chunks)
    assert all_equal(outcome) == 53750


@both
def test_an_all_gather_of_three_bytes_is_three_chunks_of_one(network: str) -> None:
    n, chunks = 4, 3
    assert message_ns(1) == 500
    expected = chunks * (n * e + (n - 1) * 500)
    assert all_equal(simulate([ring(n)], one(AG, 3), network=network, chunks=chunks)) == expected


@pytest.mark.parametrize("priority", ["lifo", "fifo", "explicit"])
def test_the_order_of_priorities_is_without_effect_on_collectives_in_sequence(
    priority: str,
) -> None:
    step = TraceBuilder()
    for importance in (1, 3, 2):
        step.collective(AR, MIB, priority=importance)
    outcome = simulate([ring(8)], step.build(), memory_gb_per_s=50, chunks=4, priority=priority)
    assert all_equal(outcome) == 3 * 117780


def test_two_queues_leave_an_all_reduce_with_one() -> None:
    """Its phases use the first half of the queues, so two chunks at a time run as one at a time."""
    details: dict[str, Any] = {"memory_gb_per_s": 50, "chunks": 4, "active_chunks": 2}
    trace = one(AR, MIB)
    alone = all_equal(simulate([ring(8)], trace, queues_per_dimension=2, **details))
    assert alone == 117780
    assert all_equal(simulate([ring(8)], trace, **details)) == 117780 // 2


def test_a_group_is_a_ring_in_the_order_of_its_members() -> None:
    """On a ring of 8, the group 0 4 1 5 sends over 4, 3, 4 and 3 hops; blocks take all of them."""
    members = (0, 4, 1, 5)
    n, m = len(members), MIB // 4
    step = TraceBuilder()
    step.collective(AR, MIB, group="7")
    idle = TraceBuilder()
    idle.compute(duration_micros=1)
    traces = [step.build() if rank in members else idle.build() for rank in range(8)]
    outcome = simulate([ring(8)], traces, groups={7: members}, endpoint_delay_ns=999)
    fixed = 10  # a group hands over in 10 ns whatever the endpoint delay
    messages = (n - 1) * (message_ns(m, hops=4) + message_ns(m, hops=3))
    expected = (2 * n - 1) * fixed + messages + (n - 1) * reduction_ns(m, 1600)
    assert [ticks(outcome)[rank] for rank in members] == [expected] * n
    assert [ticks(outcome)[rank] for rank in (2, 3, 6, 7)] == [1000] * n


def test_a_group_of_all_ranks_is_no_group() -> None:
    outcome = simulate(
        [ring(8)],
        one(AR, MIB, group="3"),
        groups={3: (3, 1, 4, 0, 5, 2, 6, 7)},
        memory_gb_per_s=50,
        chunks=4,
    )
    assert all_equal(outcome) == 117780


def test_direct_with_a_window_charges_every_second_group() -> None:
    """Reduce-scatter over 8 with 2 under way: of 9 hand-overs, 1 2 5 6 9 are free."""
    n, m = 8, MIB // 8
    W, R = message_ns(m), reduction_ns(m, 1600)
    sends = n - 1
    rounds = 4  # ceil(7 / 2)
    assert (sends + 1) // 2 == rounds
    reduced_rounds = 2  # the hand-overs after receipts 1 2 and 5 6
    expected = (rounds + 1) * e + rounds * W + reduced_rounds * R
    block = dimension("fully_connected", n, 50, 500)
    assert all_equal(simulate([block], one(RS, MIB), algorithm="direct2")) == expected


def test_halving_doubling_over_six_ranks_is_refused_where_upstream_stalls() -> None:
    with pytest.raises(UnsupportedError, match="needs a power of two positions, got 6"):
        simulate([ring(6)], one(AR, MIB), algorithm="halvingDoubling")


@both
@pytest.mark.parametrize(("n", "distances"), [(6, 2), (12, 3), (20, 4), (24, 4)])
def test_halving_doubling_gathers_where_upstreams_distances_form_pairs(
    network: str, n: int, distances: int
) -> None:
    block = dimension("fully_connected", n, 50, 500)
    expected = (distances + 1) * e + sum(message_ns(MIB << k) for k in range(distances))
    outcome = simulate([block], one(AG, MIB), algorithm="halvingDoubling", network=network)
    assert all_equal(outcome) == expected


Step = Callable[[TraceBuilder], Any]


def pair(sender: Step, receiver: Step) -> list[Trace]:
    steps = TraceBuilder(rank=0), TraceBuilder(rank=1)
    sender(steps[0])
    receiver(steps[1])
    return [step.build() for step in steps]


@both
def test_equal_messages_of_one_tag_arrive_in_the_order_sent(network: str) -> None:
    def sends(step: TraceBuilder) -> None:
        step.send(1, MIB, tag=5)
        step.send(1, MIB, tag=5)

    def receives(step: TraceBuilder) -> None:
        step.recv(0, MIB, tag=5)
        step.compute(duration_micros=3, after=step.recv(0, MIB, tag=5))

    W = message_ns(MIB)
    block = dimension("fully_connected", 2, 50, 500)
    assert ticks(simulate([block], pair(sends, receives), network=network)) == [2 * W, 2 * W + 3000]


@pytest.mark.parametrize(("posted_us", "waits"), [(1, True), (100, False)])
def test_a_receive_ends_at_arrival_or_when_it_is_posted(posted_us: int, waits: bool) -> None:
    W = message_ns(MIB)
    traces = pair(
        lambda step: step.send(1, MIB, tag=1),
        lambda step: step.recv(0, MIB, tag=1, after=step.compute(duration_micros=posted_us)),
    )
    finish = ticks(simulate([ring(2)], traces))
    assert finish == [W, W if waits else posted_us * 1000]


def test_rendezvous_sends_when_the_receiver_has_asked() -> None:
    asked_us, control = 50, message_ns(8192)
    traces = pair(
        lambda step: step.send(1, MIB, tag=1),
        lambda step: step.recv(0, MIB, tag=1, after=step.compute(duration_micros=asked_us)),
    )
    expected = asked_us * 1000 + control + message_ns(MIB)
    assert ticks(simulate([ring(2)], traces, rendezvous=True)) == [expected] * 2


def test_cpu_work_runs_beside_a_kernel_and_counts_as_exposed() -> None:
    step = TraceBuilder()
    step.compute(duration_micros=4, cpu=True)
    step.compute(duration_micros=3)
    step.compute(duration_micros=2, after=step.compute(duration_micros=5, cpu=True))
    outcome = simulate([ring(2)], step.build())
    assert all_equal(outcome) == 4000 + 5000 + 2000
    assert outcome.compute_busy.tolist() == [3000 + 2000] * 2


def test_replay_takes_every_recorded_duration_and_one_tick_for_none() -> None:
    step = TraceBuilder()
    first = step.collective(AR, MIB, duration_micros=6)
    step.collective(A2A, MIB, after=step.compute(duration_micros=2, after=first))
    outcome = simulate([ring(4)], step.build(), replay_only=True)
    assert all_equal(outcome) == 6000 + 2000 + 1


def test_a_memory_pool_serves_one_request_after_the_other() -> None:
    latency_ns, bytes_per_ns, size = 700, 100.0, 123_456
    step = TraceBuilder()
    step.memory_load(size)
    pool = RemoteMemory(kind="pool", latency_ns=latency_ns, bytes_per_ns=bytes_per_ns)
    own = RemoteMemory(kind="per_npu", latency_ns=latency_ns, bytes_per_ns=bytes_per_ns)
    t = latency_ns + int(size / bytes_per_ns)
    assert ticks(simulate([ring(4)], step.build(), remote=pool)) == [t, 2 * t, 3 * t, 4 * t]
    assert ticks(simulate([ring(4)], step.build(), remote=own)) == [t] * 4


def test_several_roots_of_a_custom_collective_start_in_hash_order(tmp_path: Path) -> None:
    """Rank 0 sends 3, 1 and 2 mebibytes at once over one link: nodes 1, 2 and 3.

    The free nodes of the 13 buckets are walked from the last one inserted: 3, then 2, then 1.
    """
    sizes = {1: 3 * MIB, 2: MIB, 3: 2 * MIB}
    steps = [TraceBuilder(rank=position, first_id=1) for position in range(4)]
    for node, size in sizes.items():
        steps[0].send(1, size, tag=node)
        steps[1].recv(0, size, tag=node)
    steps[2].compute(duration_micros=1)
    steps[3].compute(duration_micros=1)
    for position, step in enumerate(steps):
        step.build().write(tmp_path / f"roots.{position}.et")
    after = TraceBuilder()
    after.collective(AR, MIB)
    outcome = simulate(
        [ring(4)], after.build(), network=AWARE, custom=Custom(prefix=str(tmp_path / "roots"))
    )
    last = serialisation_ns(sizes[3]) + serialisation_ns(sizes[2]) + message_ns(sizes[1])
    assert ticks(outcome)[:2] == [last, last]
