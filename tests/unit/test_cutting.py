"""The closed form that cuts collectives equals a run where nothing waits in other ways."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives import find
from yantra.collectives.in_nodes import stages
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind
from yantra.compile.cutting import Phase, cost_of, crossed, cuts, phase, time_ns, visits
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

RANKS = 8
IN_TURNS = "round_robin"
CUBE = tuple(
    Dimension(kind="ring", size=2, bytes_per_ns=at, latency_ns=500.0) for at in (99, 150, 99)
)


def ns(
    dimensions: tuple[Dimension, ...],
    kind: Kind,
    size: int,
    chunks: int | None = None,
    network: str = "analytical",
) -> float:
    rings = ("ring",) * len(dimensions)
    chosen = Collectives(
        all_reduce=rings,
        all_gather=rings,
        reduce_scatter=rings,
        all_to_all=rings,
        reductions="overlapped",
        inter_dimension=IN_TURNS,
        chunks=chunks,
    )
    trace = TraceBuilder()
    trace.collective(CollectiveType[kind.name], size)
    scenario = Scenario(
        workload=Traces(traces=(trace.build(),) * prod(one.size for one in dimensions)),
        topology=Topology(dimensions=dimensions),
        collectives=chosen,
        network=network,
    )
    return float(simulate(scenario).makespan_ns)


@pytest.mark.parametrize("size", [1 << 13, 1 << 20, 1 << 27])
@pytest.mark.parametrize(
    ("fabric", "algorithm"),
    [
        ("ring", "ring"),
        ("switch", "ring"),
        ("switch", "halving_doubling"),
        ("fully_connected", "direct"),
    ],
)
def test_one_chunk_on_one_level_takes_the_closed_form(
    fabric: str, algorithm: str, size: int
) -> None:
    level = Dimension(kind=fabric, size=RANKS, bytes_per_ns=50.0, latency_ns=700.0)
    chosen = Collectives(all_reduce=(algorithm,), reductions="overlapped", chunks=1)
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size)
    result = simulate(
        Scenario(
            workload=Traces(traces=(trace.build(),) * RANKS),
            topology=Topology(dimensions=(level,)),
            collectives=chosen,
        )
    )
    program = lower(find(algorithm).schedule(Kind.ALL_REDUCE, RANKS))
    way = crossed(level, chosen.endpoint_delay_ns)
    expected = time_ns([[phase(cost_of(program), way, 0, 1.0, alike=True)]], size, 1)
    assert float(result.finish_ns[0]) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "messages"),
    [(Kind.BROADCAST, 0), (Kind.GATHER, 0), (Kind.REDUCE, 1), (Kind.ALL_REDUCE, 1)],
)
def test_a_member_waits_for_messages_that_go_round_alone(kind: Kind, messages: int) -> None:
    made = stages(kind, ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert made is not None
    assert cost_of(lower(made.part(0))).wait == messages


def test_what_goes_round_a_node_is_waited_for_message_by_message() -> None:
    made = stages(Kind.ALL_GATHER, ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert made is not None
    assert cost_of(lower(made.part(2))).wait == 3


@pytest.mark.parametrize("kind", [Kind.REDUCE_SCATTER, Kind.ALL_TO_ALL, Kind.ALL_GATHER])
@pytest.mark.parametrize("size", [777, 1 << 16, 1 << 20, 1 << 26])
@pytest.mark.parametrize("chunks", [1, 3, 6, 12])
def test_chunks_in_turns_take_what_is_played(kind: Kind, size: int, chunks: int) -> None:
    program = cost_of(lower(find("ring").schedule(kind, 2)))
    shape = {Kind.REDUCE_SCATTER: 0.5, Kind.ALL_TO_ALL: 1.0, Kind.ALL_GATHER: 2.0}[kind]
    orders = [
        [
            phase(program, crossed(CUBE[level], 10.0), level, shape**at, alike=True)
            for at, (level, _) in enumerate(visits(kind, 3, hierarchical=False, turns=turn))
        ]
        for turn in range(3)
    ]
    expected = time_ns(orders, size, chunks)
    assert ns(CUBE, kind, size, chunks) == pytest.approx(expected, rel=0.025)


@pytest.mark.parametrize("network", ["analytical", "flow", "ideal"])
@pytest.mark.parametrize(
    ("kind", "size"), [(Kind.REDUCE_SCATTER, 4096), (Kind.ALL_TO_ALL, 100_003), (Kind.REDUCE, 9999)]
)
def test_less_to_do_never_takes_longer(kind: Kind, size: int, network: str) -> None:
    taken = [ns(CUBE, kind, size * part // 20, network=network) for part in range(20, 1, -1)]
    assert all(less <= more * 1.001 for more, less in pairwise(taken))


@pytest.mark.parametrize("faster", [100.5, 120.0, 400.0, 4000.0])
def test_a_faster_dimension_never_makes_it_slower(faster: float) -> None:
    torus = tuple(
        Dimension(kind="ring", size=2, bytes_per_ns=rate, latency_ns=500.0) for rate in (100, 100)
    )
    better = (torus[0].replace(bytes_per_ns=faster), torus[1])
    before = ns(torus, Kind.ALL_TO_ALL, 65536)
    assert ns(better, Kind.ALL_TO_ALL, 65536) <= before * 1.001


@pytest.mark.parametrize("faster", [120.0, 200.0, 400.0])
def test_a_faster_line_never_makes_it_slower(faster: float) -> None:
    pair, line = (
        Dimension(kind="mesh", size=size, bytes_per_ns=100, latency_ns=500.0) for size in (2, 4)
    )
    better = (pair, line.replace(bytes_per_ns=faster))
    before = ns((pair, line), Kind.REDUCE_SCATTER, 262_144)
    assert ns(better, Kind.REDUCE_SCATTER, 262_144) <= before * 1.001


def test_every_size_has_the_chunks_that_are_best_for_it() -> None:
    orders = (tuple(Phase(at, 900.0, 0.02, 40.0, 0.01, 0.01) for at in range(3)),)
    counts = (1, 2, 4, 8, 16, 32)
    found = cuts(((orders, counts),))
    assert {one.chunks for one in found} == set(counts)
    for size in range(1, 300_000, 997):
        chosen = next(one for one in reversed(found) if one.from_bytes <= size)
        least = min(time_ns(orders, size, chunks) for chunks in counts)
        assert time_ns(orders, size, chosen.chunks) <= 1.0015 * least
