"""Collectives of groups; nodes have 8 ranks behind a switch, and an adapter for each."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.check import find_violation
from yantra.collectives.in_nodes import KINDS, stages
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

INSIDE, ACROSS = 400.0, 50.0  # bytes/ns
SYMMETRIC = (Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL)
ROOTED = (Kind.BROADCAST, Kind.REDUCE, Kind.GATHER, Kind.SCATTER)


def time_ns(
    kind: Kind,
    groups: Sequence[Sequence[int]],
    size_bytes: int,
    nodes: int,
    network: str = "analytical",
    chunks: int | None = None,
) -> float:
    group_of = {rank: at for at, members in enumerate(groups, 1) for rank in members}
    traces = []
    for rank in range(8 * nodes):
        trace = TraceBuilder(rank=rank)
        if rank in group_of:
            each = size_bytes
            if kind in (Kind.ALL_GATHER, Kind.GATHER):
                each = size_bytes // len(groups[group_of[rank] - 1])
            trace.collective(CollectiveType[kind.name], each, group=str(group_of[rank]))
        else:
            trace.compute("idle", duration_micros=1)
        traces.append(trace.build())
    levels = [Dimension(kind="switch", size=8, bytes_per_ns=INSIDE, latency_ns=300.0)]
    if nodes > 1:
        levels.append(Dimension(kind="switch", size=nodes, bytes_per_ns=ACROSS, latency_ns=1000.0))
    rings = dict.fromkeys(
        ("all_reduce", "all_gather", "reduce_scatter"), ("ring", "ring")[: len(levels)]
    )
    result = simulate(
        Scenario(
            workload=Traces(
                traces=tuple(traces),
                groups=tuple((at, tuple(members)) for at, members in enumerate(groups, 1)),
            ),
            topology=Topology(dimensions=tuple(levels)),
            network=network,
            collectives=Collectives(
                **rings,
                all_to_all=("direct1", "direct1")[: len(levels)],
                reductions="overlapped",
                chunks=chunks,
            ),
        )
    )
    return max(float(result.finish_ns[rank]) for rank in groups[0])


def bound_ns(kind: Kind, m: int, n: int, size_bytes: int) -> float:
    there = {
        Kind.ALL_REDUCE: (2 * (n - 1) / n / m, 2 * (m - 1) / m),
        Kind.ALL_TO_ALL: ((n - 1) / n, (m - 1) / (m * n)),
        Kind.BROADCAST: (1 / m, 1.0 if m > 1 else 0.0),
        Kind.REDUCE: (1 / m, 1.0 if m > 1 else 0.0),
    }
    across, inside = there.get(kind, ((n - 1) / n / m, (m - 1) / m))
    return size_bytes * max(across / ACROSS, inside / INSIDE)


def members_of(m: int, n: int, step: int = 1) -> list[int]:
    return [8 * node + at * step for node in range(n) for at in range(m)]


@pytest.mark.parametrize("network", ["analytical", "flow"])
@pytest.mark.parametrize("kind", [*SYMMETRIC, *ROOTED])
def test_a_group_takes_the_adapters_of_all_its_members(kind: Kind, network: str) -> None:
    size = 1 << 30
    for m, n in ((1, 4), (2, 8), (4, 3), (8, 2)):
        took = time_ns(kind, [members_of(m, n)], size, 8, network)
        least = bound_ns(kind, m, n, size)
        assert 0.999 * least <= took <= 1.15 * least, (m, n, took / least)


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_chunks_at_once_hide_the_latency_of_each_other(kind: Kind) -> None:
    """Of 64 MiB no more is seen of latencies than one chunk's, and networks agree."""
    size = 1 << 26
    for m, n in ((4, 4), (8, 2), (6, 3), (7, 8)):
        group = [members_of(m, n)]
        both = [time_ns(kind, group, size, 8, name) for name in ("analytical", "flow")]
        latencies = time_ns(kind, group, 64 * m * n, 8, chunks=1)
        assert max(both) <= 1.15 * (bound_ns(kind, m, n, size) + latencies), (m, n)
        assert both[0] == pytest.approx(both[1], rel=0.05), (m, n)


@pytest.mark.parametrize("kind", [*SYMMETRIC, *ROOTED])
def test_what_a_group_does_on_its_own_links_does_not_depend_on_who_else_exists(kind: Kind) -> None:
    size = 1 << 26
    first = members_of(8, 2)
    others = [[rank + 16 * at for rank in first] for at in (1, 2, 3)]
    for network in ("analytical", "flow"):
        alone = time_ns(kind, [first], size, 2, network)
        assert time_ns(kind, [first], size, 8, network) == alone
        assert time_ns(kind, [first, *others], size, 8, network) == alone


@pytest.mark.parametrize("kind", [*SYMMETRIC, *ROOTED])
def test_networks_that_share_links_agree_where_no_two_messages_meet(kind: Kind) -> None:
    for m, n, step in ((2, 4, 4), (3, 2, 2), (8, 3, 1)):
        group = members_of(m, n, step)
        both = [time_ns(kind, [group], 1 << 28, 4, name) for name in ("analytical", "flow")]
        assert both[0] == pytest.approx(both[1], rel=0.05)


@pytest.mark.parametrize("kind", [Kind.ALL_REDUCE, Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_members_that_lie_unevenly_take_as_many_rails_as_the_emptiest_node_has(kind: Kind) -> None:
    size = 1 << 30
    straddling = list(range(4, 12))  # four in each of two nodes, at other places
    uneven = [*range(8), *range(8, 15)]  # eight and seven
    for group, rails in ((straddling, 4), (uneven, 7)):
        least = bound_ns(kind, rails, 2, size)
        assert time_ns(kind, [group], size, 2, "flow") <= 1.5 * least


@pytest.mark.parametrize("network", ["analytical", "flow"])
@pytest.mark.parametrize("kind", [Kind.ALL_GATHER, Kind.REDUCE_SCATTER])
def test_nodes_of_any_sizes_load_their_rails_evenly(kind: Kind, network: str) -> None:
    size = 1 << 28
    for sizes in ((8, 7), (8, 7, 6), (5, 3), (4, 1), (3, 2, 2)):
        group = [8 * node + at for node, members in enumerate(sizes) for at in range(members)]
        n = len(group)
        across = max((n - m) / n / m for m in sizes) / ACROSS
        least = size * max(across, (n - 1) / n / INSIDE)
        assert least <= time_ns(kind, [group], size, len(sizes), network) <= 1.25 * least, sizes


def test_a_collective_inside_a_node_is_one_chunk_however_many_nodes_there_are() -> None:
    one = [list(range(8))]
    for size in (1 << 16, 1 << 28):
        alone = time_ns(Kind.ALL_REDUCE, one, size, 1, chunks=1)
        assert time_ns(Kind.ALL_REDUCE, one, size, 4) == alone
        # 14 steps of two hops of 300 ns and a share of the data, and hand-overs of 10 ns.
        assert alone == pytest.approx(14 * (600 + size / 8 / INSIDE) + 15 * 10, rel=1e-4)


def test_chunks_that_the_planner_takes_beat_any_other_number_by_a_little_at_least() -> None:
    group = [members_of(4, 4)]
    for size in (1 << 18, 1 << 24, 1 << 30):
        own = time_ns(Kind.ALL_REDUCE, group, size, 4)
        counts = (1, 2, 4, 8, 16, 32)
        others = [time_ns(Kind.ALL_REDUCE, group, size, 4, chunks=chunks) for chunks in counts]
        assert own <= 1.03 * min(others)


def test_stages_over_nodes_of_any_sizes_perform_their_collective() -> None:
    draw = random.Random(7)
    for _ in range(40):
        sizes = [draw.randint(1, 4) for _ in range(draw.randint(2, 5))]
        positions = list(range(sum(sizes)))
        if draw.random() < 0.5:
            draw.shuffle(positions)
        nodes = []
        for size in sizes:
            nodes.append(tuple(positions[:size]))
            del positions[:size]
        for kind in KINDS:
            made = stages(kind, tuple(nodes))
            assert made is not None
            assert find_violation(made.schedule()) is None, (kind, nodes)
            for at in range(3):
                lower(made.part(at))


def test_a_broadcast_of_few_bytes_goes_over_a_tree() -> None:
    """log2(8) steps of two hops of 300 ns in a node, where a chain would take seven."""
    few = time_ns(Kind.BROADCAST, [list(range(8))], 1024, 1)
    assert few == pytest.approx(3 * (600 + 1024 / INSIDE), rel=0.05)


@pytest.mark.parametrize("order", ["ascending", "round_robin", "themis"])
def test_a_group_of_all_ranks_takes_as_long_as_the_bare_collective(order: str) -> None:
    sides = [Dimension(kind="ring", size=4, bytes_per_ns=100.0, latency_ns=500.0)] * 2
    times = []
    for group in (None, "1"):
        trace = TraceBuilder()
        trace.collective(CollectiveType.ALL_REDUCE, 1 << 26, group=group)
        scenario = Scenario(
            workload=Traces(traces=(trace.build(),) * 16, groups=((1, tuple(range(16))),)),
            topology=Topology(dimensions=tuple(sides)),
            collectives=Collectives(
                all_reduce=("ring", "ring"), reductions="overlapped", inter_dimension=order
            ),
        )
        times.append(simulate(scenario).makespan_ns)
    assert times[0] == times[1]
    turned = 2 * 15 / 16 * (1 << 26) / 200  # both dimensions busy all the time
    if order != "ascending":
        assert turned <= times[0] <= 1.1 * turned


def test_an_uneven_all_to_all_takes_each_member_s_own_adapter() -> None:
    size = 1 << 28
    for sizes in ((8, 7), (8, 8, 3)):
        group = [8 * node + at for node, members in enumerate(sizes) for at in range(members)]
        n = len(group)
        least = max(size * (n - members) / n / ACROSS for members in sizes)
        for network in ("analytical", "flow"):
            took = time_ns(Kind.ALL_TO_ALL, [group], size, len(sizes), network)
            assert least <= took <= 1.15 * least, (sizes, network)


@pytest.mark.parametrize("kind", [Kind.GATHER, Kind.SCATTER, Kind.REDUCE])
def test_chunks_of_what_one_member_collects_do_not_run_ahead_of_it(kind: Kind) -> None:
    group = [members_of(8, 8)]
    both = [time_ns(kind, group, 1 << 26, 8, name) for name in ("analytical", "flow")]
    assert both[0] == pytest.approx(both[1], rel=0.02)
    others = [time_ns(kind, group, 1 << 26, 8, chunks=chunks) for chunks in (8, 16, 32, 64)]
    assert both[0] <= 1.1 * min(others)
