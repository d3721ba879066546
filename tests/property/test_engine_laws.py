"""Laws of a run of any scenario: conservation, bounds, agreement of models, determinism."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import prod
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    scenario,
)
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives import find
from yantra.collectives.program import scaled
from yantra.collectives.schedule import Kind
from yantra.compile import compile
from yantra.result.tables import breakdown
from yantra.run.simulate import run_native
from yantra.scenario import Device, RemoteMemory, Topology

NETWORKS = ("analytical", "store_and_forward")
KIND_OF = {
    ALL_REDUCE: Kind.ALL_REDUCE,
    REDUCE_SCATTER: Kind.REDUCE_SCATTER,
    ALL_GATHER: Kind.ALL_GATHER,
    ALL_TO_ALL: Kind.ALL_TO_ALL,
}
collective_types = st.sampled_from(sorted(KIND_OF))
blocks = st.sampled_from(["ring", "fully_connected", "switch"])


@st.composite
def topologies(draw: st.DrawFn, most: int = 3) -> Topology:
    count = draw(st.integers(1, most))
    return cluster(
        *(
            (
                draw(blocks),
                draw(st.integers(2, 4 if count < 3 else 3)),
                draw(st.sampled_from([0.7, 8.0, 53.6870912])),
                draw(st.sampled_from([0.0, 12.25, 500.0])),
            )
            for _ in range(count)
        )
    )


def mixed(topology: Topology, seed: int, groups: tuple[tuple[int, tuple[int, ...]], ...]) -> Write:
    """Communicators take turns along a chain on each rank, so no two ranks wait for each other."""

    def write(trace: TraceBuilder, rank: int) -> None:
        shared, own = Random(seed), Random(f"{seed} {rank}")
        last: Any = ()
        for step in range(6):
            what = shared.choice(["collective", "collective", "message", "compute", "memory"])
            size = shared.choice([1, 1000, 4097])
            if what == "collective":
                kind = shared.choice(sorted(KIND_OF))
                group, members = shared.choice([(None, range(topology.ranks)), *groups])
                if rank in members:
                    name = None if group is None else str(group)
                    last = trace.collective(kind, size, group=name, after=last)
            elif what == "message":
                src, dst = shared.sample(range(topology.ranks), 2)
                if rank == src:
                    trace.send(dst, size, tag=step, after=last)
                elif rank == dst:
                    last = trace.recv(src, size, tag=step, after=last)
            elif what == "memory":
                trace.memory_load(own.randrange(5000), after=last)
            else:
                cpu = own.random() < 0.3
                last = trace.compute(duration_micros=own.randrange(4), cpu=cpu, after=last)

    return write


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    topology = draw(topologies())
    ranks = topology.ranks
    groups = ((1, tuple(range(0, ranks, 2))), (2, tuple(range(ranks // 2 + 1))))
    dimensions = len(topology.dimensions)
    options = collectives(
        draw(st.sampled_from(["ring", "direct", "direct2"])),
        dimensions,
        chunks=draw(st.integers(1, 4)),
        active_chunks=draw(st.integers(1, 3)),
        queues_per_dimension=draw(st.integers(1, 2)),
        endpoint_delay_ns=draw(st.sampled_from([0, 10])),
        rendezvous=draw(st.booleans()),
        inter_dimension=draw(st.sampled_from(["ascending", "round_robin", "themis"])),
    )
    network = draw(st.sampled_from(NETWORKS if dimensions == 1 else NETWORKS[:1]))
    return {
        "topology": topology,
        "write": mixed(topology, draw(st.integers(0, 10**6)), groups),
        "groups": groups,
        "collectives": options,
        "network": network,
        "memory": RemoteMemory(kind="pool", latency_ns=50, bytes_per_ns=3.0),
        "device": Device(memory_bytes_per_s=1e11),
    }


@settings(max_examples=60)
@given(runs())
def test_every_rank_finishes_and_its_time_is_the_sum_of_its_parts(parts: dict[str, Any]) -> None:
    done = run(**parts)
    out = done.outcome
    for rank, finish in enumerate(out.finish):
        assert sum(breakdown(done.model, out, rank)) == finish
        first, last = out.first_node[rank], out.first_node[rank + 1]
        assert finish == max(out.end[first:last], default=0)


@settings(max_examples=40)
@given(runs(), st.integers(2, 4))
def test_a_model_run_again_and_by_threads_at_once_leaves_the_same_columns(
    parts: dict[str, Any], threads: int
) -> None:
    model = compile(scenario(parts.pop("topology"), parts.pop("write"), **parts))

    def columns(_: int) -> tuple[Any, ...]:
        return Run(model, run_native(model), []).columns()

    first = columns(0)
    assert columns(1) == first
    with ThreadPoolExecutor(threads) as pool:
        assert all(again == first for again in pool.map(columns, range(2 * threads)))


@settings(max_examples=60)
@given(
    st.sampled_from(["ring", "direct", "direct2", "halving_doubling"]),
    collective_types,
    st.sampled_from([2, 4, 8]),
    st.integers(1, 5000),
    st.integers(1, 4),
    st.sampled_from(NETWORKS),
)
def test_a_dimension_carries_the_bytes_of_its_programs(
    algorithm: str, kind: CollectiveType, n: int, size: int, chunks: int, network: str
) -> None:
    made = find(algorithm)
    if made.supports(KIND_OF[kind], n) is not None:
        return
    done = run(
        cluster(("fully_connected", n, 8.0, 100.0)),
        lambda trace, rank: trace.collective(kind, size),
        collectives=collectives(algorithm, chunks=chunks),
        network=network,
    )
    pieces = min(chunks, size)
    cut = [size // pieces + (piece < size % pieces) for piece in range(pieces)]
    (program,) = made.programs(KIND_OF[kind], n)
    messages = [message for data in cut for message in program.messages(data)]
    (use,) = done.outcome.dimensions
    assert use.bytes == sum(bytes for _, _, bytes in messages)
    assert use.messages == done.outcome.messages == len(messages)
    if network == "store_and_forward":
        by_link = {(link.source, link.destination): link.use.bytes for link in done.outcome.links}
        pairs = {(src, dst) for src, dst, _ in messages}
        assert by_link == {pair: sum(m[2] for m in messages if m[:2] == pair) for pair in pairs}


@settings(max_examples=40)
@given(
    st.lists(st.integers(2, 4), min_size=2, max_size=3),
    st.sampled_from(["ring", "direct"]),
    st.integers(1, 5000),
    st.integers(1, 3),
)
def test_each_dimension_carries_its_phases_of_a_hierarchical_all_reduce(
    sizes: list[int], algorithm: str, size: int, chunks: int
) -> None:
    done = run(
        cluster(*[("fully_connected", n, 8.0, 100.0) for n in sizes]),
        lambda trace, rank: trace.collective(ALL_REDUCE, size),
        collectives=collectives(algorithm, len(sizes), chunks=chunks),
    )
    pieces = min(chunks, size)
    carried = [0] * len(sizes)
    for piece in range(pieces):
        data = size // pieces + (piece < size % pieces)
        inner = list(range(len(sizes) - 1))
        visits = [(d, Kind.REDUCE_SCATTER) for d in inner]
        visits += [(len(inner), Kind.ALL_REDUCE), *((d, Kind.ALL_GATHER) for d in inner[::-1])]
        for d, kind in visits:
            (program,) = find(algorithm).programs(kind, sizes[d])
            lines = prod(sizes) // sizes[d]
            carried[d] += lines * sum(bytes for _, _, bytes in program.messages(data))
            data = scaled(data, program.final_num, program.final_den, program.round_up)
    assert done.bytes() == carried


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 6), blocks)
def test_messages_cross_as_many_links_as_they_have_hops(seed: int, n: int, block: str) -> None:
    random = Random(seed)
    pairs = [(*random.sample(range(n), 2), random.randrange(1, 9999)) for _ in range(8)]

    def write(trace: TraceBuilder, rank: int) -> None:
        for tag, (src, dst, size) in enumerate(pairs):
            if rank == src:
                trace.send(dst, size, tag=tag)
            if rank == dst:
                trace.recv(src, size, tag=tag)

    topology = cluster((block, n, 8.0, 100.0))
    once, hop_by_hop = (run(topology, write, network=network) for network in NETWORKS)
    assert once.bytes() == [sum(size for _, _, size in pairs)]
    assert hop_by_hop.bytes() == [sum(size * hops(block, n, src, dst) for src, dst, size in pairs)]


def hops(block: str, n: int, src: int, dst: int) -> int:
    around = min((src - dst) % n, (dst - src) % n)
    return {"fully_connected": 1, "switch": 2, "ring": around}[block]


@settings(max_examples=100)
@given(topologies(), st.data(), st.integers(1, 2**40))
def test_one_message_takes_latency_plus_size_over_bandwidth(
    topology: Topology, data: st.DataObject, size: int
) -> None:
    src = data.draw(st.integers(0, topology.ranks - 1))
    dst = (src + data.draw(st.integers(1, topology.ranks - 1))) % topology.ranks
    crossed = []
    stride = 1
    for dimension in topology.dimensions:
        here, there = src // stride % dimension.size, dst // stride % dimension.size
        if here != there:
            crossed.append((hops(dimension.kind, dimension.size, here, there), dimension))
        stride *= dimension.size

    def write(trace: TraceBuilder, rank: int) -> None:
        if rank == src:
            trace.send(dst, size)
        elif rank == dst:
            trace.recv(src, size)

    latency = sum(count * dimension.latency_ns for count, dimension in crossed)
    slowest = min(dimension.bytes_per_ns for _, dimension in crossed)
    took = run(topology, write).finish[dst]
    assert float(took) == pytest.approx(latency + size / slowest, rel=1e-12, abs=5e-4)
    if len(topology.dimensions) == 1:
        took = run(topology, write, network="store_and_forward").finish[dst]
        ((count, dimension),) = crossed
        stored = count * (dimension.latency_ns + size / dimension.bytes_per_ns)
        assert float(took) == pytest.approx(stored, rel=1e-12, abs=5e-4 * count)


@settings(max_examples=60)
@given(
    st.sampled_from(["ring", "direct1", "halving_doubling"]),
    collective_types,
    st.integers(1, 10**6),
    st.integers(1, 3),
    st.sampled_from(["fully_connected", "ring"]),
)
def test_without_contention_the_networks_agree_on_single_hops(
    algorithm: str, kind: CollectiveType, size: int, chunks: int, block: str
) -> None:
    if block == "ring":
        algorithm = "ring"
    if find(algorithm).supports(KIND_OF[kind], 4) is not None:
        return
    results = [
        run(
            cluster((block, 4, 8.0, 100.0)),
            lambda trace, rank: trace.collective(kind, size),
            collectives=collectives(algorithm, chunks=chunks, endpoint_delay_ns=3),
            network=network,
        ).outcome.end.tolist()
        for network in NETWORKS
    ]
    assert results[0] == results[1]


@settings(max_examples=40)
@given(st.integers(2, 8), collective_types, st.integers(1, 9999), st.integers(1, 4), blocks)
def test_ranks_that_do_the_same_finish_together(
    n: int, kind: CollectiveType, size: int, chunks: int, block: str
) -> None:
    for algorithm in ("ring", "direct"):
        done = run(
            cluster((block, n, 8.0, 100.0)),
            lambda trace, rank: trace.collective(kind, size),
            collectives=collectives(algorithm, chunks=chunks),
        )
        assert len(set(done.finish)) == 1


@settings(max_examples=60)
@given(
    st.integers(2, 3),
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["ascending", "round_robin", "themis", "themis_flex"]),
    st.sampled_from(["fifo", "rg", "smallest_first", "less_remaining_phase_first"]),
)
def test_ranks_out_of_step_never_stop_each_other(
    dimensions: int, seed: int, chunks: int, active: int, queues: int, inter: str, intra: str
) -> None:
    topology = cluster(*[("ring", 3, 8.0, 100.0), ("switch", 2, 2.0, 50.0)] * 2)
    topology = Topology(dimensions=topology.dimensions[:dimensions])
    late = [Random(f"{seed} {rank}").randrange(30) for rank in range(topology.ranks)]

    def write(trace: TraceBuilder, rank: int) -> None:
        before = trace.compute(duration_micros=late[rank])
        first = trace.collective(ALL_REDUCE, 60_000, after=before)
        trace.collective(ALL_GATHER, 600, after=first)

    done = run(
        topology,
        write,
        collectives=collectives(
            dimensions=dimensions,
            chunks=chunks,
            active_chunks=active,
            queues_per_dimension=queues,
            inter_dimension=inter,
            intra_dimension=intra,
        ),
    )
    assert min(done.finish) > Fraction(1000 * max(late))
