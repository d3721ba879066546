"""Laws of NCCL's tuner: sizes, segments, and what is off."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.collectives.nccl import Graph, System, chosen, segments, tuner_table
from yantra.collectives.nccl.constants import Cpu, Gpu

GIB = 1 << 30


@st.composite
def communicators(draw: st.DrawFn) -> System:
    nodes, local = draw(st.integers(1, 40)), draw(st.integers(1, 8))
    gpu: Gpu = draw(st.sampled_from(("volta", "ampere", "hopper", "blackwell")))
    cpu: Cpu = draw(st.sampled_from(("intel", "amd", "other")))
    names = draw(st.sets(st.sampled_from(("Tree", "NVLS", "NVLSTree", "CollNetDirect", "PAT"))))
    speed = st.integers(1, 90)
    graphs = {
        name: Graph(
            channels=draw(st.integers(1, 24)),
            intra=float(draw(speed)),
            inter=float(draw(speed)),
            nvlink=draw(st.booleans()),
            inter_latency_us=float(draw(st.integers(0, 5))),
        )
        for name in sorted(names | {"Ring"})
    }
    ranks = max(2, nodes * local)
    flags = {name: draw(st.booleans()) for name in ("ll128", "nvls", "collnet")}
    return System(ranks=ranks, nodes=nodes, gpu=gpu, cpu=cpu, graphs=graphs, **flags)


KINDS = st.sampled_from(("all_reduce", "all_gather", "reduce_scatter", "broadcast"))


@settings(max_examples=60, deadline=None)
@given(communicators(), KINDS, st.lists(st.integers(0, GIB), min_size=5, max_size=5))
def test_between_segments_the_time_is_a_straight_line(
    system: System, kind: str, sizes: list[int]
) -> None:
    table = tuner_table(system, kind)
    points = [(size, chosen(table, size).time_us) for size in segments(table, GIB)]
    assert points[0][0] == 0
    assert points[-1][0] == GIB
    for size in sizes:
        (a, t), (b, u) = next(pair for pair in pairwise(points) if pair[1][0] >= size)
        line = t + (u - t) * (size - a) / (b - a)
        assert chosen(table, size).time_us == pytest.approx(line, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(communicators(), KINDS, st.integers(0, GIB), st.integers(1, 1 << 20))
def test_more_bytes_take_longer_but_where_a_correction_changes(
    system: System, kind: str, size: int, more: int
) -> None:
    table = tuner_table(system, kind)
    if kind == "all_reduce" and (size // 64).bit_length() != ((size + more) // 64).bit_length():
        return
    assert chosen(table, size + more).time_us >= chosen(table, size).time_us


@settings(max_examples=40, deadline=None)
@given(communicators(), KINDS, st.integers(0, GIB))
def test_what_is_off_is_not_chosen(system: System, kind: str, size: int) -> None:
    algorithm, protocol, _ = chosen(tuner_table(system, kind), size)
    assert algorithm in system.graphs
    assert protocol != "LL128" or system.ll128
    assert not algorithm.startswith("NVLS") or system.nvls
    assert algorithm != "NVLSTree" or system.nodes > 1
    assert not algorithm.startswith("CollNet") or system.collnet
    assert algorithm != "PAT" or system.nodes == system.ranks


RING = Graph(channels=16, intra=20.0, inter=20.0)


def test_a_ring_of_two_in_a_node_takes_base_and_two_hops() -> None:
    system = System(ranks=2, nodes=1, gpu="ampere", cpu="intel", graphs={"Ring": RING})
    latency, bandwidth = tuner_table(system, "all_reduce").expected["Ring", "LL"]
    assert latency == pytest.approx(6.6 + 2 * 0.6)
    assert bandwidth == pytest.approx(87.7)


def test_an_all_to_all_and_a_system_without_a_ring_are_refused() -> None:
    system = System(ranks=8, nodes=1, gpu="ampere", cpu="intel", graphs={"Ring": RING})
    with pytest.raises(ConfigError, match=r"expected one of all_reduce, .*all_to_all"):
        tuner_table(system, "all_to_all")
    with pytest.raises(ConfigError, match="expected a graph of Ring"):
        tuner_table(system.replace(graphs={"Tree": RING}), "all_reduce")
