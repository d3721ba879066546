"""A replay that knows only dependencies and durations gives the measured timeline."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import replay_graph, slow_replay_graph
from tests.oracles.linked_pair import Pair, linked
from tests.property.test_link import pairs
from tests.zoo import drawn
from yantra.tracing.pytorch.graph import Graph, GraphNode, GraphOptions, build

EVERYTHING = GraphOptions()


def graph_of(pair: Pair, options: GraphOptions = EVERYTHING) -> Graph:
    return build(pair.linked, options)


def ends(node: GraphNode, start: dict[int, int]) -> int:
    return start[node.id] + node.dur_us


@given(
    pair=pairs(whole_us=False), gaps=st.booleans(), handover=st.booleans(), anchors=st.booleans()
)
@drawn(60)
def test_the_core_builds_what_objects_do(
    pair: Pair, gaps: bool, handover: bool, anchors: bool
) -> None:
    options = GraphOptions(gaps=gaps, handover=handover, anchors=anchors)
    assert list(graph_of(pair, options).nodes) == slow_replay_graph.build(pair.linked, options)


@given(pair=pairs())
@settings(max_examples=80)
def test_a_replay_gives_the_measured_timeline(pair: Pair) -> None:
    graph = graph_of(pair)
    start = replay_graph.unlimited(graph.nodes)
    assert graph.shifted == 0
    for node in graph.nodes:
        assert start[node.id] == node.start_us
        if node.kind != "delay":
            assert abs(node.start_us - node.start_ns // 1000) <= 1
            if node.kind == "device":
                assert abs(ends(node, start) - (node.start_ns + node.dur_ns) // 1000) <= 1


@given(pair=pairs())
@settings(max_examples=60)
def test_ids_are_dense_and_follow_what_they_wait_for(pair: Pair) -> None:
    for place, node in enumerate(graph_of(pair).nodes):
        assert node.id == place
        assert all(0 <= other < place for other in node.deps)
        assert len(set(node.deps)) == len(node.deps)
        assert node.ctrl is None or 0 <= node.ctrl < place


@given(pair=pairs())
@settings(max_examples=60)
def test_every_operator_and_device_op_is_one_node_under_its_operator(pair: Pair) -> None:
    graph = graph_of(pair)
    kinds = [node for node in graph.nodes if node.kind == "operator"]
    assert sorted(node.source for node in kinds) == [op.id for op in pair.linked.operators]
    for op in pair.linked.operators:
        node = graph.nodes[graph.operator_node[op.id]]
        expected = None if op.parent is None else graph.operator_node[op.parent]
        assert (node.name, node.ctrl) == (op.name, expected)
    for device_op in pair.linked.device_ops:
        node = graph.nodes[graph.device_node[device_op.id]]
        assert (node.device, node.lane) == (device_op.device, device_op.stream)
        assert (node.start_ns, node.dur_ns) == (device_op.start_ns, device_op.dur_ns)
        parent = device_op.parent
        assert node.ctrl == (None if parent is None else graph.operator_node[parent])


@given(pair=pairs(), gaps=st.booleans())
@settings(max_examples=60)
def test_what_the_trace_says_waits_for_what_is_in_the_graph(pair: Pair, gaps: bool) -> None:
    graph = graph_of(pair, GraphOptions(gaps=gaps))
    for op in pair.linked.device_ops:
        deps = graph.nodes[graph.device_node[op.id]].deps
        assert {graph.device_node[other] for other in op.after} <= set(deps)
    waits = {node.source: node for node in graph.nodes if node.kind == "wait"}
    for index, wait in enumerate(pair.linked.waits):
        if wait.after:
            assert {graph.device_node[op] for op in wait.after} <= set(waits[index].deps)
    assert gaps or not any(node.kind == "delay" for node in graph.nodes)


@given(pair=pairs())
@settings(max_examples=60)
def test_lanes_do_one_thing_at_a_time(pair: Pair) -> None:
    lanes: dict[tuple[int, int], list[GraphNode]] = {}
    for node in graph_of(pair).nodes:
        if node.kind != "delay" and node.dur_us:
            lanes.setdefault((node.device, node.lane), []).append(node)
    for nodes in lanes.values():
        nodes.sort(key=lambda node: node.start_us)
        for before, after in pairwise(nodes):
            assert before.end_us <= after.start_us


@given(pair=pairs(whole_us=False))
@settings(max_examples=60)
def test_the_time_of_operators_is_conserved(pair: Pair) -> None:
    spent: dict[int, int] = {}
    for node in graph_of(pair, GraphOptions(handover=False)).nodes:
        if node.kind in ("operator", "slice"):
            spent[node.source] = spent.get(node.source, 0) + node.dur_ns
    in_waits: dict[int | None, int] = {}
    for wait in pair.linked.waits:
        if wait.after:
            in_waits[wait.op] = in_waits.get(wait.op, 0) + wait.dur_ns
    for op in pair.linked.operators:
        assert spent.get(op.id, 0) == op.exclusive_ns - in_waits.get(op.id, 0)


@given(seed=st.integers(0, 1 << 20))
@settings(max_examples=25)
def test_the_main_thread_waits_for_the_backward_pass(seed: int) -> None:
    options = (("collectives", False), ("side_thread", False))
    graph = graph_of(linked(seed, 60, options))
    nodes = graph.nodes
    threads = [node for node in nodes if node.device < 0 and node.kind != "delay"]
    over = {
        (nodes[dep].lane, node.lane)
        for node in threads
        for dep in node.deps
        if nodes[dep].device < 0 and nodes[dep].lane != node.lane
    }
    assert over == {(4000, 4001), (4001, 4000)}


@given(seed=st.integers(0, 1 << 20))
@settings(max_examples=25)
def test_threads_side_by_side_do_not_wait_for_each_other(seed: int) -> None:
    graph = graph_of(linked(seed, 100, (("side_thread", True), ("backward", False))))
    nodes = graph.nodes
    side = [node for node in nodes if node.lane == 4002 and node.kind != "delay"]
    crossing = [
        node
        for node in nodes
        if node.device < 0 and node.kind != "delay" and node.lane == 4000
        if any(nodes[dep].lane == 4002 for dep in node.deps)
    ]
    assert len(crossing) <= 1 + len(side) // 10


@given(pair=pairs(collectives=False, side_thread=False))
@settings(max_examples=30)
def test_one_cpu_and_one_gpu_slot_are_enough_for_one_stream_and_threads_in_turn(
    pair: Pair,
) -> None:
    graph = graph_of(pair)
    measured = replay_graph.makespan(graph.nodes, replay_graph.unlimited(graph.nodes))
    slots = replay_graph.makespan(graph.nodes, replay_graph.single_slots(graph.nodes))
    copies = sum(node.dur_us for node in graph.nodes if node.lane == 20)
    assert measured <= slots <= measured * 1.02 + copies
