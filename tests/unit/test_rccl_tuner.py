"""RCCL's tuner: NCCL's with other constants, and a protocol that is decided again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.collectives.nccl import rccl
from yantra.collectives.nccl.constants import AnyGpu
from yantra.collectives.nccl.debug_log import parse
from yantra.collectives.nccl.search import machine_of
from yantra.collectives.nccl.system import Graph, System
from yantra.collectives.nccl.table import KINDS, tuner_table
from yantra.collectives.nccl.topology import parse as parse_topology
from yantra.collectives.nccl.tuner import chosen, segments
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.selection import Group, Timed

MI: tuple[AnyGpu, ...] = ("mi200", "mi300", "mi350")
GPUS = st.sampled_from(MI)


def system(gpu: AnyGpu = "mi300", nodes: int = 1, local: int = 8, **more: Any) -> System:
    graph = Graph(channels=28, intra=20.0, inter=20.0)
    graphs = {"Ring": graph, "Tree": graph}
    return System(ranks=nodes * local, nodes=nodes, gpu=gpu, cpu="amd", graphs=graphs, **more)


def test_factors_are_there_for_each_power_of_two_to_4_gib() -> None:
    for model in rccl.MODELS.values():
        assert all(len(one) == 27 for one in (*model.tree, *model.ring))
        assert all(0 < factor <= 2 for one in (*model.tree, *model.ring) for factor in one)


def test_a_ring_in_a_node_of_mi300_takes_its_hops_and_its_share_of_the_channels() -> None:
    table = tuner_table(system(), "all_reduce")
    simple = table.expected["Ring", "Simple"]
    assert simple.latency_us == pytest.approx(17.0 + 14 * 2.1)
    assert simple.bandwidth == pytest.approx(28 * 20.0 * 8 / 14)
    low = table.expected["Ring", "LL"]
    assert low.latency_us == pytest.approx(12.0 + 14 * 0.8)
    assert low.bandwidth == pytest.approx(28 * 20.0 * 0.08 * 8 / 14)


def test_a_tree_over_nodes_of_mi300_has_the_factor_of_its_size() -> None:
    table = tuner_table(system(nodes=4), "all_reduce")
    tree = table.expected["Tree", "Simple"]
    assert tree.latency_us == pytest.approx(17.0 + 2 * (7 * 2.3 + 2 * 25.0))
    assert tree.bandwidth == pytest.approx(28 * 20.0 * 0.59 * 0.5)
    assert rccl.correction("mi300", 4, "Tree", "Simple", 64 << 15) == 0.7
    assert rccl.correction("mi300", 4, "Tree", "Simple", 1 << 40) == 0.6
    assert rccl.correction("mi300", 4, "Ring", "Simple", 64 << 22) == 1.0
    assert rccl.correction("mi300", 1, "Ring", "Simple", 64) == 1.0


def test_trees_in_a_node_of_mi300_run_no_simple() -> None:
    for gpu, is_on in (("mi200", True), ("mi300", False), ("mi350", False)):
        table = tuner_table(system(gpu), "all_reduce")  # type: ignore[arg-type]
        assert (table.expected["Tree", "Simple"].bandwidth > 0) is is_on
        over = tuner_table(system(gpu, nodes=2), "all_reduce")  # type: ignore[arg-type]
        assert over.expected["Tree", "Simple"].bandwidth > 0


@pytest.mark.parametrize(
    ("gpu", "nodes", "kind", "mine", "protocol"),
    [
        ("mi300", 2, "all_reduce", 1 << 20, "LL"),
        ("mi300", 2, "all_reduce", (1 << 20) + 1, "LL128"),
        ("mi300", 2, "all_reduce", 9_437_185, "Simple"),
        ("mi300", 4, "all_reduce", 9_437_185, "LL128"),
        ("mi300", 2, "reduce_scatter", 131_073, "LL128"),
        ("mi300", 1, "reduce_scatter", 352_128, "LL"),
        ("mi350", 1, "all_gather", 88_448, "LL"),
        ("mi350", 2, "broadcast", 2_049, "LL128"),
    ],
)
def test_a_protocol_is_decided_by_the_bytes_of_a_rank(
    gpu: AnyGpu, nodes: int, kind: str, mine: int, protocol: str
) -> None:
    of = system(gpu, nodes)
    size = mine * (1 if kind == "all_reduce" else of.ranks)
    assert chosen(tuner_table(of, kind), size).protocol == protocol
    if protocol == "LL128":
        off = tuner_table(system(gpu, nodes, ll128=False), kind)
        assert chosen(off, size).protocol != "LL128"


@given(GPUS, st.sampled_from(KINDS), st.sampled_from([1, 2, 5, 16]), st.integers(0, 1 << 33))
def test_between_the_ends_of_segments_times_are_straight_lines(
    gpu: AnyGpu, kind: str, nodes: int, size: int
) -> None:
    table = tuner_table(system(gpu, nodes), kind)
    ends = segments(table, 1 << 33)
    first = max(end for end in ends if end <= size)
    after = min(end for end in ends if end >= size)
    low, high = chosen(table, first), chosen(table, after)
    share = (size - first) / (after - first) if after > first else 0.0
    line = low.time_us + share * (high.time_us - low.time_us)
    assert chosen(table, size).time_us == pytest.approx(line, rel=1e-6)


@given(GPUS, st.sampled_from(KINDS), st.sampled_from([1, 2, 5]), st.integers(1, 1 << 33))
def test_only_rings_and_trees_run(gpu: AnyGpu, kind: str, nodes: int, size: int) -> None:
    found = chosen(tuner_table(system(gpu, nodes, nvls=True, collnet=True), kind), size)
    assert found.algorithm in ("Ring", "Tree") and found.time_us > 0


MATRIX = "      GPU0 GPU1\nGPU0   X   PIX\nGPU1  PIX   X\n"
LOG = (
    "host:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 112, bw 9.000000/9.000000, "
    "type XGMI/PIX, sameChannels 1\n"
    "host:1:1 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0\n"
)


def test_a_log_of_rccl_has_links_of_xgmi_and_more_channels() -> None:
    (one,) = parse(LOG, "log")
    assert one.channels == 112 and one.nvlink and one.ll128
    with pytest.raises(ConfigError, match="a number from 1 to 128, got 129"):
        parse(LOG.replace("112", "129"), "log")


def test_the_selection_says_whose_tuner_it_has(tmp_path: Any) -> None:
    (tmp_path / "rccl.log").write_text(LOG)
    options = {"gpu": "mi300", "cpu": "amd", "log": str(tmp_path / "rccl.log")}
    made = selection_of(FIELD.read({"kind": "nccl", "options": options}, "", ""))
    group = Group(ranks=8, dimensions=(("switch", 8),), whole=(0,), lowest=0, local=8)
    (choice,) = made.choices("all_reduce", group)
    assert isinstance(choice.algorithms, Timed)
    basis = "what RCCL's tuner expects of 8 ranks on 1 node with mi300 GPUs"
    assert choice.algorithms.basis == basis
    assert made.choices("all_to_all", group) == []


def test_the_search_of_graphs_is_of_nvidia_alone() -> None:
    matrix = parse_topology(MATRIX, "topo.txt")
    with pytest.raises(ConfigError, match="got mi300; give graphs or a log"):
        machine_of(matrix, "mi300", 50.0, "topology")
