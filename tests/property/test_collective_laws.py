"""The laws of collectives, for any algorithm, size and fabric, and which tests state them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.test_nccl_tuner import communicators
from yantra.chakra import CollectiveType
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.check import find_violation
from yantra.collectives.deepep.routing import traffic, traffic_of_each
from yantra.collectives.in_network import InNetwork
from yantra.collectives.nccl import System, chosen, segments, tuner_table
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.synthesis import tacos, trees
from yantra.collectives.synthesis.bound import Fabric, bound
from yantra.collectives.synthesis.rank_graph import RankGraph, rank_graph
from yantra.fabric.graphs.describe import Shown, shown
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.switches import FabricSwitches
from yantra.run.collective_bench import BENCHED, Question, bench, default_algorithms
from yantra.run.simulate import simulate
from yantra.scenario import loads
from yantra.scenario.one_collective import of_all_ranks
from yantra.scenario.types import Templates

HERE = Path(__file__).parents[1]
LAWS = {
    "no schedule beats the cut bound, and packed trees reach it": (
        "unit/test_cut_bound.py::test_the_bounds_are_the_worst_cuts_of_every_small_graph",
        "unit/test_collective_commands.py::test_no_algorithm_beats_the_bound",
        "property/test_collective_laws.py::test_packed_trees_fill_the_worst_cut_of_small_graphs",
    ),
    "every schedule passes the checker": (
        "contract/test_collective_contract.py::test_law",
        "unit/test_node_stages.py::test_every_schedule_is_proven_wherever_ranks_are_placed",
        "unit/test_synthesis.py::test_every_plan_performs_its_collective",
    ),
    "bytes over links are those of the moves times their hops": (
        "property/test_collective_laws.py::test_links_carry_the_moves_times_their_hops",
        "unit/test_node_stages.py::test_bytes_on_links_are_those_of_the_moves_times_their_hops",
    ),
    "bus bandwidth is at most what a rank's links have, but in the network": (
        "property/test_collective_laws.py::test_the_bus_reads_no_more_than_the_links_of_a_rank",
    ),
    "the tuner's time grows with bytes but at corrections, and its choice is the least time": (
        "property/test_collective_laws.py::test_the_time_of_the_tuner_falls_only_at_corrections",
        "unit/test_nccl_tuner.py::test_more_bytes_take_longer_but_where_a_correction_changes",
    ),
    "NVLS takes as long for any number of ranks, but for a rank's own share": (
        "property/test_collective_laws.py::test_nvls_takes_as_long_for_any_number_of_ranks",
    ),
    "over one node a collective of nodes is the one inside": (
        "property/test_collective_laws.py::test_over_one_node_stages_between_nodes_are_gone",
        "unit/test_node_stages.py::test_rings_of_one_node_and_of_nodes_of_one_rank_are_a_ring",
        "unit/test_two_level.py::"
        "test_with_one_node_or_nodes_of_one_it_sends_what_a_direct_exchange_does",
    ),
    "a seed is one result, and more tries are never worse": (
        "property/test_collective_laws.py::test_a_seed_is_one_result_and_more_tries_never_worse",
    ),
    "a folded run is the run": (
        "property/test_flow_folding.py::"
        "test_a_folded_run_gives_every_rank_node_and_link_what_the_whole_run_gives",
    ),
    "sending a token once to a node never sends more": (
        "property/test_collective_laws.py::test_a_token_once_to_a_node_is_never_more_bytes",
        "unit/test_deepep.py::test_sending_a_token_once_to_a_node_never_sends_more",
    ),
}
FABRICS = {"mesh": {"sizes": [2, 3]}, "torus": {"sizes": [3, 3]}, "hypercube": {"dimensions": 3},
         "switch": {"ranks": 5}, "leaf_spine": {"leaves": 2, "ranks_per_leaf": 3, "spines": 2},
         "dgx1": {}, "rail_optimised": {"boxes": 2, "ranks_per_box": 3}}  # fmt: skip


@pytest.mark.parametrize("law", LAWS)
def test_every_law_has_the_tests_that_state_it(law: str) -> None:
    for place in LAWS[law]:
        file, _, name = place.partition("::")
        assert f"def {name}(" in (HERE / file).read_text(), place


@cache
def fabric_of(name: str) -> Shown:
    return shown(name, FABRICS[name])


def small_graph(seed: int) -> Fabric:
    of = Random(seed)
    devices = of.randint(3, 8)
    ranks = max(2, devices - of.randint(0, 3))
    order = of.sample(range(devices), devices)
    cables = {tuple(sorted(pair)) for pair in pairwise((*order, order[0]))}
    cables |= {(a, b) for b in range(devices) for a in range(b) if of.random() < 0.3}
    links = []
    for a, b in sorted(cables):
        rate = Fraction(of.randint(1, 6))
        links += [(a, b, rate), (b, a, rate)]
    return Fabric(ranks, devices, tuple(links))


def without_latency(fabric: Fabric) -> RankGraph:
    return rank_graph(fabric, (0.0,) * len(fabric.links))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_packed_trees_fill_the_worst_cut_of_small_graphs(seed: int) -> None:
    fabric = small_graph(seed)
    least = float(bound(Kind.ALL_GATHER, fabric).ns_per_byte) * 1e6
    took = trees.forest(without_latency(fabric)).time_ns(1e6, 1 << 40)
    assert took == pytest.approx(least, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 100), st.integers(1, 6), st.integers(1, 6))
def test_a_seed_is_one_result_and_more_tries_never_worse(
    graph: int, seed: int, few: int, more: int
) -> None:
    made = without_latency(small_graph(graph))
    one, again, best = (
        tacos.gather(made, 1e6, 2, tries, seed=seed) for tries in (few, few, few + more)
    )
    assert one.transfers == again.transfers
    assert best.time_ns <= one.time_ns


def names_of(kind: Kind) -> list[str]:
    return [name for name in algorithms.names() if kind in find(name).kinds]


def schedule_on(graph: Graph, name: str, kind: Kind) -> Schedule | None:
    algorithm = find(name)
    if isinstance(algorithm, InNetwork):
        algorithm = algorithm.on(FabricSwitches(graph, range(graph.ranks)))
    if algorithm.supports(kind, graph.ranks) is not None:
        return None
    schedule = algorithm.schedule(kind, graph.ranks)
    assert find_violation(schedule) is None
    return schedule


def hops_of(graph: Graph) -> list[list[int]]:
    beside: list[list[int]] = [[] for _ in range(graph.devices)]
    for start, end in zip(graph.links.start.tolist(), graph.links.end.tolist(), strict=True):
        beside[start].append(end)
    return [_hops_from(graph, beside, start) for start in range(graph.devices)]


def _hops_from(graph: Graph, beside: list[list[int]], start: int) -> list[int]:
    hops, level, far = [0] * graph.devices, [start], 0
    seen = {start}
    while level:
        far += 1
        following = []
        for device in level:
            for other in beside[device]:
                if other not in seen:
                    seen.add(other)
                    hops[other] = far
                    following.append(other)
        level = following
    return hops


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_links_carry_the_moves_times_their_hops(data: st.DataObject) -> None:
    fabric = fabric_of(data.draw(st.sampled_from(sorted(FABRICS))))
    graph = fabric.graph
    kind = data.draw(st.sampled_from(BENCHED))
    name = data.draw(st.sampled_from(names_of(kind)))
    schedule = schedule_on(graph, name, kind)
    if schedule is None:
        return
    size = schedule.parts * data.draw(st.integers(1, 1000))
    options = ", ".join(f"{key}: {value}" for key, value in fabric.options.items())
    scenario = loads(
        f"""
workload: {{traces: "none.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: {graph.ranks}, bandwidth: 1 GB/s, latency: 0 ns}}]
  fabric: {{kind: {fabric.name}, {options}}}
  routing: {{kind: ecmp, options: {{stay_in_box: 0}}}}
network: flow
collectives: {{{kind}: [{name}], chunks: 1}}
"""
    )
    workload = of_all_ranks(CollectiveType[kind.name], size, graph.ranks)
    result = simulate(scenario.replace(workload=Templates(workload=workload)))
    numbers = {graph.name_of(at): at for at in range(graph.devices)}
    at = [*range(graph.ranks), *(numbers[one] for one in schedule.switches)]
    hops = hops_of(graph)
    carried = sum(hops[at[src]][at[dst]] * sent for src, dst, sent in schedule.messages(size))
    assert sum(use.bytes for use in result.dimension_uses) == carried


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_bus_reads_no_more_than_the_links_of_a_rank(data: st.DataObject) -> None:
    fabric = fabric_of(data.draw(st.sampled_from(sorted(FABRICS))))
    kind = data.draw(st.sampled_from(BENCHED))
    names = [name for name in default_algorithms(kind) if name in algorithms.names()]
    size = data.draw(st.integers(1, 1 << 28))
    [row] = bench([fabric], Question(kind, (size,), (data.draw(st.sampled_from(names)),)))
    if row.refused:
        return
    links = fabric.graph.links
    sent = np.bincount(links.start, links.bytes_per_ns, fabric.graph.devices)[: row.ranks]
    assert row.bus_bytes_per_ns is not None
    # The total of all ranks bounds what they send; for equal ranks that is what one has.
    assert row.bus_bytes_per_ns <= sent.mean() * (1 + 1e-9)


@settings(max_examples=60, deadline=None)
@given(communicators(), st.sampled_from(("all_reduce", "all_gather", "reduce_scatter")))
def test_the_time_of_the_tuner_falls_only_at_corrections(system: System, kind: str) -> None:
    """At powers of two from 64 B on, of all-reduces alone; and the choice is the least time."""
    table = tuner_table(system, kind)
    sizes = segments(table, 1 << 30)
    for before, after in pairwise(sizes):
        fell = chosen(table, after).time_us < chosen(table, before).time_us * (1 - 1e-12)
        is_correction = after == before + 1 and after >= 64 and after & (after - 1) == 0
        assert not fell or (kind == "all_reduce" and is_correction)
    for size in sizes:
        alone = [
            chosen(table._replace(expected={pair: one}), size)
            for pair, one in table.expected.items()
            if one.bandwidth > 0
        ]
        best = chosen(table, size)
        assert best.time_us == min(one.time_us for one in alone)
        assert best in alone


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(1, 4), st.integers(1, 400))
def test_nvls_takes_as_long_for_any_number_of_ranks(ranks: int, planes: int, parts: int) -> None:
    options = {
        "ranks_per_rack": ranks, "switches": planes, "bandwidth": "10 GB/s", "latency": "1 us",
    }  # fmt: skip
    size = ranks * planes * 100 * parts
    fabric = shown("nvl72", options)
    [row] = bench([fabric], Question(Kind.ALL_REDUCE, (size,), ("nvls",)))
    assert row.time_ns is not None
    left = row.time_ns - 4 * 1000
    assert left / (1 + 1 / ranks) == pytest.approx(2 * size / (planes * 10), rel=1e-6, abs=0.01)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 3), st.integers(1, 10**6))
def test_over_one_node_stages_between_nodes_are_gone(ranks: int, planes: int, size: int) -> None:
    options = {
        "ranks_per_rack": ranks, "switches": planes, "bandwidth": "10 GB/s", "latency": "1 us",
    }  # fmt: skip
    fabric = shown("nvl72", options)
    for one, other in (("nvls", "nvls_tree"), ("collnet_chain", "chain_tree")):
        rows = list(bench([fabric], Question(Kind.ALL_REDUCE, (size,), (one, other))))
        assert rows[0].time_ns is not None
        # Blocks are rounded up, and those of trees are halves.
        assert rows[1].time_ns == pytest.approx(rows[0].time_ns, abs=8 * ranks * planes)


@settings(max_examples=200, deadline=None)
@given(
    nodes=st.sampled_from([1, 2, 4, 8]),
    local=st.sampled_from([1, 2, 4, 8]),
    each=st.integers(1, 8),
    top_k=st.integers(1, 8),
    tokens=st.integers(1, 8192),
)
def test_a_token_once_to_a_node_is_never_more_bytes(
    nodes: int, local: int, each: int, top_k: int, tokens: int
) -> None:
    ranks = nodes * local
    experts = ranks * each
    top_k = min(top_k, experts)
    once = traffic(tokens, 7168.0, top_k=top_k, experts=experts, ranks=ranks, local=local)
    to_each = traffic_of_each(tokens, 7168.0, top_k=top_k, ranks=ranks, local=local)
    assert once.rdma <= to_each.rdma * (1 + 1e-9)
    to_ranks = traffic(tokens, 7168.0, top_k=top_k, experts=experts, ranks=ranks, local=1)
    if local == 1:
        assert once == to_ranks
    if top_k == 1:
        assert once.rdma == pytest.approx(float(to_each.rdma))
