"""The tables of a result, against numbers worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.example_files import SCENARIO
from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, Node, NodeType, TraceBuilder
from yantra.result import Result
from yantra.result.bound import estimated
from yantra.result.link_counts import lanes, links_per_group
from yantra.result.table import Table
from yantra.run.simulate import simulate
from yantra.scenario import ASTRA_SIM_RESOURCES, RemoteMemory

MIB = 1 << 20


def _message(size_bytes: int, network: str = "analytical") -> Result:
    sender, receiver, other = TraceBuilder(), TraceBuilder(), TraceBuilder()
    sender.send(1, size_bytes)
    receiver.recv(0, size_bytes)
    other.compute(duration_micros=1)
    return simulate(scenario([sender, receiver, other, other], dimension(), network=network))


def test_one_message_takes_latency_plus_size_over_bandwidth() -> None:
    result = _message(MIB)
    assert result.makespan_ns == pytest.approx(LATENCY_NS + MIB / GB_PER_S, abs=0.001)
    assert result.finish_ns[1] == result.makespan_ns
    assert result.finish_ps[1] == round(result.makespan_ns * 1000)
    assert list(result.finish_ns[2:]) == [1000, 1000]


def test_a_dimension_is_used_by_its_bytes_over_what_all_its_links_could_carry() -> None:
    use = _message(MIB).dimension_uses[0]
    makespan_ns = LATENCY_NS + MIB / GB_PER_S
    assert (use.bytes, use.messages, use.links) == (MIB, 1, 8)
    assert use.utilisation == pytest.approx(MIB / (8 * GB_PER_S * makespan_ns), rel=1e-6)
    assert use.busy == pytest.approx(MIB / (GB_PER_S * makespan_ns), rel=1e-6)  # the busiest link


def test_where_no_link_is_kept_a_dimension_is_busy_as_if_each_rank_drove_a_link() -> None:
    use = _message(MIB, "ideal").dimension_uses[0]
    assert use.busy == pytest.approx(MIB / (4 * 1 * GB_PER_S * (MIB / GB_PER_S)), rel=1e-6)


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_link_is_busy_while_it_carries_bytes(network: str) -> None:
    result = _message(MIB, network)
    assert list(result.links.rows()) == [
        (0, 0, 1, MIB, 1, pytest.approx(20971.52), pytest.approx(20971.52 / 21471.52))
    ]
    assert result.dimension_uses[0].busy == pytest.approx(20971.52 / 21471.52)


def test_a_network_that_takes_messages_at_once_has_no_links() -> None:
    assert len(_message(MIB, "ideal").links) == 0


def test_the_port_of_a_switch_is_told_by_a_missing_rank() -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, MIB)
    receiver.recv(0, MIB)
    result = simulate(
        scenario([sender, receiver], dimension("switch", 2), network="store_and_forward")
    )
    assert [row[1:3] for row in result.links.rows()] == [(0, None), (None, 1)]
    assert np.isnan(result.links["destination"][0])
    assert result.links.kind("source") == result.links.kind("destination") == "whole"


def test_the_ports_of_several_switches_are_told_by_numbers_after_the_ranks() -> None:
    ranks = [TraceBuilder() for _ in range(8)]
    ranks[4].send(3, MIB)
    ranks[3].recv(4, MIB)
    pairs = dimension("ring", 2), dimension("two_level_tree2", 4)
    result = simulate(scenario(ranks, *pairs, network="store_and_forward"))
    # First to rank 5, as for all odd ranks; their leaves are 12 and 13, their spines 14 and 15.
    route = [(0, 4, 5), (1, 5, 13), (1, 13, 15), (1, 15, 12), (1, 12, 3)]
    assert sorted(row[:3] for row in result.links.rows()) == sorted(route)


@pytest.mark.parametrize(
    ("kind", "size", "aware", "links"),
    [
        ("ring", 8, False, 8 * 2),
        ("ring", 2, True, 2 * 1),
        ("fully_connected", 8, False, 8 * 7),
        ("switch", 8, False, 8 * 1),
        ("switch", 8, True, 8 * 2),
        ("mesh", 8, True, 2 * 7),
        ("two_level_tree4", 8, False, 8),
        ("two_level_tree4", 8, True, 2 * (8 + 2 * 4)),
    ],
)
def test_links_of_a_group(kind: str, size: int, aware: bool, links: int) -> None:
    assert links_per_group(dimension(kind, size), aware) == links


@pytest.mark.parametrize(
    ("name", "kind", "queues", "expected"),
    [
        ("ring", "ring", 1, 1),
        ("oneRing", "ring", 4, 2),
        ("ring", "fully_connected", 4, 2),
        ("ring", "hypercube", 3, 2),
        ("direct", "fully_connected", 1, 7),
        ("direct3", "fully_connected", 1, 3),
        ("oneDirect", "switch", 1, 1),
        ("halving_doubling", "fully_connected", 1, 1),
        ("doubleBinaryTree", "ring", 2, 1),
        ("direct", "two_level_tree", 1, 1),
        ("direct", "hypercube", 1, 3),
    ],
)
def test_lanes_are_the_links_an_algorithm_drives_at_once(
    name: str, kind: str, queues: int, expected: int
) -> None:
    assert lanes(name, dimension(kind, 8), queues) == expected


def test_a_node_is_listed_with_its_issue_and_completion() -> None:
    trace = TraceBuilder(first_id=3)
    first = trace.compute("first", duration_micros=2)
    trace.compute("second", duration_micros=3, after=first)
    result = simulate(scenario([trace, trace], dimension(size=2)))
    assert list(result.nodes.rows()) == [
        (rank, *row)
        for rank in (0, 1)
        for row in [(3, "first", "COMP", 0, 2000), (4, "second", "COMP", 2000, 5000)]
    ]


def test_a_collectives_bandwidth_is_its_size_over_its_time() -> None:
    trace = TraceBuilder()
    before = trace.compute(duration_micros=1)
    trace.collective(CollectiveType.ALL_GATHER, MIB, group="7", after=before)
    result = simulate(scenario([trace] * 4, dimension(), groups=((7, (0, 1, 2, 3)),)))
    table = result.collectives
    assert set(zip(*(table.values(c) for c in ("kind", "group", "size_bytes")), strict=True)) == {
        ("all_gather", "7", MIB)
    }
    duration_ns = table["end_ns"] - table["start_ns"]
    assert table["algorithm_bandwidth_gb_per_s"] == pytest.approx(4 * MIB / duration_ns)
    assert list(table["start_ns"]) == [1000] * 4


def test_a_rank_that_waits_for_the_pool_of_memory_exposes_it() -> None:
    trace = TraceBuilder()
    trace.memory_load(MIB)
    pool = RemoteMemory(kind="pool", latency_ns=1000, bytes_per_ns=100.0)
    result = simulate(scenario([trace] * 2, dimension(size=2), memory=pool))
    once_ns = 1000 + MIB / 100
    assert result.ranks["exposed_memory_ns"] == pytest.approx([once_ns, 2 * once_ns])
    assert result.bound_by.kind == "memory"


def test_work_of_the_cpu_counts_where_nothing_else_runs() -> None:
    trace = TraceBuilder()
    trace.compute(duration_micros=10, cpu=True)
    trace.compute(duration_micros=4)
    result = simulate(scenario([trace] * 2, dimension(size=2)))
    assert result.ranks.values("compute_ns") == [4000, 4000]
    assert result.ranks.values("exposed_host_ns") == [6000, 6000]
    assert result.bound_by.kind == "host"


def test_a_run_that_computes_most_of_its_time_is_bound_by_compute() -> None:
    trace = TraceBuilder()
    trace.compute(duration_micros=1000)
    trace.collective(CollectiveType.ALL_REDUCE, MIB)
    bound = simulate(scenario([trace] * 4, dimension())).bound_by
    assert bound.kind == "compute"
    words = "bound by compute: with kernels that take no time it would be 96.0 % shorter"
    assert bound.text.startswith(words)


@pytest.mark.parametrize("network", ["analytical", "store_and_forward"])
def test_a_run_that_fills_its_links_is_bound_by_the_network(network: str) -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 64 * MIB)
    bound = simulate(scenario([trace] * 4, dimension(), network=network)).bound_by
    assert bound.kind == "network"
    words = "bound by the network, bandwidth of dimension 0 (Ring 4): with infinite bandwidth of"
    assert bound.text.startswith(words)


def test_a_run_of_small_messages_is_bound_by_latency() -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 4096)
    assert simulate(scenario([trace] * 4, dimension())).bound_by.kind == "latency"


def test_ranks_that_compute_one_after_the_other_wait_for_each_other() -> None:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        received = [trace.recv(rank - 1, 1 << 16)] if rank else []
        done = trace.compute(duration_micros=100, after=received)
        if rank < 3:
            trace.send(rank + 1, 1 << 16, after=done)
        traces.append(trace)
    bound = simulate(scenario(traces, dimension())).bound_by
    assert bound.kind == "compute"
    assert bound.text.endswith("next is waiting for other ranks, 74.6 %")


def test_a_run_of_no_time_is_bound_by_nothing() -> None:
    trace = TraceBuilder()
    trace.add(Node(1, "about the run", NodeType.METADATA))
    result = simulate(scenario([trace] * 2, dimension(size=2)))
    assert result.makespan_ns == 0
    assert result.bound_by.text == "bound by nothing: the run takes no time"
    assert result.dimension_uses[0].utilisation == 0


def test_whole_nanoseconds_stay_whole_numbers() -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, MIB)
    result = simulate(
        scenario(
            [trace] * 4,
            dimension(),
            semantics="astra-sim",
            resources=ASTRA_SIM_RESOURCES,
        )
    )
    assert all(type(value) is int for value in result.ranks.values("finish_ns"))
    assert list(result.finish_ps) == [1000 * value for value in result.ranks.values("finish_ns")]


def test_a_column_is_an_array_that_does_not_change() -> None:
    table = Table("t", 2, {"a": ("real", lambda: [1.5, None]), "b": ("text", lambda: ["x", "y"])})
    assert np.isnan(table["a"][1])
    assert list(table["b"]) == ["x", "y"]
    with pytest.raises(ValueError, match="read-only"):
        table["a"][0] = 2.0
    assert table["a"] is table["a"]


def test_an_unknown_column_is_named_with_its_likely_meaning() -> None:
    with pytest.raises(ConfigError, match=r"table ranks: has no column 'x'; it has rank, finish"):
        _message(8).ranks["x"]
    with pytest.raises(ConfigError, match=r"no column 'finish'; did you mean 'finish_ns'\?"):
        _message(8).ranks["finish"]


def test_a_result_needs_numpy_only_for_arrays(tmp_path: Path) -> None:
    (tmp_path / "step.yaml").write_text(SCENARIO)
    for rank in range(4):
        trace = TraceBuilder()
        trace.collective("ALL_REDUCE", 4_000_000)
        trace.build().write(tmp_path / f"job.{rank}.et")
    code = """
import sys
from yantra.cli import main
main(["run", "step.yaml"])
assert "yantra.result" in sys.modules and "numpy" not in sys.modules
"""
    line = [sys.executable, "-c", code]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, cwd=tmp_path)


def test_the_estimated_latency_is_what_links_leave_of_the_exposed_communication() -> None:
    ends = [TraceBuilder(), TraceBuilder()]
    for rank, end in enumerate(ends):
        end.send(1 - rank, 20_000)
        end.recv(1 - rank, 20_000)
    result = simulate(scenario(ends, dimension(size=2)))
    assert result.makespan_ns == pytest.approx(LATENCY_NS + 20_000 / GB_PER_S)
    bound = estimated(result.model, result.outcome, result.dimension_uses)
    assert (bound.kind, bound.estimate) == ("latency", True)
    assert bound.gain == pytest.approx(LATENCY_NS / result.makespan_ns, rel=1e-3)
