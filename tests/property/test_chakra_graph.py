"""The dependency graph against a slow one made of dictionaries and sets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from yantra import _core
from yantra.chakra import Node, Trace

IDS = st.integers(0, 12) | st.sampled_from([10**6, 2**40, 2**64 - 1])
NODES = st.lists(
    st.builds(
        Node,
        IDS,
        st.sampled_from(["a", "b", "ü"]),
        duration_micros=st.integers(0, 9),
        data_deps=st.lists(IDS, max_size=3),
        ctrl_deps=st.lists(IDS, max_size=3),
    ),
    max_size=14,
)


def distinct(ids: list[int]) -> list[int]:
    return list(dict.fromkeys(ids))


def parents_by_id(nodes: list[Node]) -> dict[int, list[int]]:
    visited: dict[int, list[int]] = {}
    for node in nodes:
        visited.setdefault(node.id, []).extend([*node.data_deps, *node.ctrl_deps])
    return {id_: [p for p in distinct(deps) if p in visited] for id_, deps in visited.items()}


def row(
    graph: _core.Graph, begin: memoryview[int], values: memoryview[int], node: int
) -> list[int]:
    return [graph.id[index] for index in values[begin[node] : begin[node + 1]]]


def stuck(parents: dict[int, list[int]]) -> set[int]:
    left = {id_: set(deps) for id_, deps in parents.items()}
    while free := [id_ for id_, deps in left.items() if not deps & left.keys()]:
        for id_ in free:
            del left[id_]
    return set(left)


@given(NODES)
def test_parents_are_those_named_in_file_order(nodes: list[Node]) -> None:
    graph = Trace(nodes).graph()
    expected = parents_by_id(nodes)
    assert list(graph.id) == sorted(expected)
    for node, id_ in enumerate(graph.id):
        assert row(graph, graph.parent_begin, graph.parent, node) == expected[id_]
        assert graph.parent_count[node] == len(expected[id_])


@given(NODES)
def test_children_are_the_reverse_of_parents_in_file_order(nodes: list[Node]) -> None:
    graph = Trace(nodes).graph()
    parents = parents_by_id(nodes)
    order = distinct([node.id for node in nodes])
    assert [graph.id[node] for node in graph.file_order] == order
    for node, id_ in enumerate(graph.id):
        expected = [child for child in order if id_ in parents[child]]
        assert row(graph, graph.child_begin, graph.child, node) == expected


@given(NODES)
def test_the_last_definition_of_an_id_gives_the_body(nodes: list[Node]) -> None:
    graph = Trace(nodes).graph(merge_duplicates=True)
    last = {node.id: node for node in nodes}
    for index, id_ in enumerate(graph.id):
        assert graph.name(index) == last[id_].name
        assert graph.duration_micros[index] == last[id_].duration_micros


@given(NODES)
def test_a_cycle_is_reported_exactly_when_some_node_can_never_run(nodes: list[Node]) -> None:
    graph = Trace(nodes).graph()
    parents = parents_by_id(nodes)
    left = stuck(parents)
    cycles = [finding for finding in graph.diagnostics if finding.code == "cycle"]
    assert len(cycles) == (1 if left else 0)
    for finding in cycles:
        assert f"{len(left)} node" in finding.text
        named = [int(word) for word in finding.text.split("wait")[0].split() if word.isdigit()]
        for parent, child in pairwise(named):
            assert parent in parents[child]


@given(NODES)
def test_every_dependency_on_a_missing_node_is_found(nodes: list[Node]) -> None:
    ids = {node.id for node in nodes}
    missing = [
        (node.id, parent)
        for node in nodes
        for parent in [*node.data_deps, *node.ctrl_deps]
        if parent not in ids
    ]
    found = [f for f in Trace(nodes).graph().diagnostics if f.code == "dangling-dependency"]
    assert len(found) + sum(finding.left_out for finding in found) == len(missing)
    assert {(f.node_id, int(f.text.split("dependency ")[1].split()[0])) for f in found} <= set(
        missing
    )


def test_a_chain_of_a_hundred_thousand_nodes_needs_no_stack() -> None:
    count = 100_000
    recorder = _core.TraceRecorder()
    recorder.end_metadata("")
    for id_ in range(count):
        recorder.node(id_, "", 4, 0, 0, [(id_ + 1) % count], [])
    (finding,) = recorder.finish().graph().diagnostics
    assert finding.text == (
        "nodes 0 -> 99999 -> 99998 -> 99997 -> 99996 -> 99995 -> 99994 -> 99993 -> "
        "... (100000 nodes) -> 0 wait for each other in a circle; 100000 nodes can never run"
    )
