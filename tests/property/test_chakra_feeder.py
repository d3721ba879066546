"""The feeder against a slow oracle, and what must hold of every order it gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import TraceError
from yantra.chakra import Feeder, Node, State, Trace, issue_order

SEMANTICS = st.sampled_from(["v1", "v3"])


@st.composite
def acyclic(draw: st.DrawFn) -> list[Node]:
    ids = draw(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 20), unique=True, max_size=12))
    nodes = []
    for place, id in enumerate(ids):
        earlier = st.lists(st.sampled_from(ids[:place]), max_size=4) if place else st.just([])
        nodes.append(Node(id, data_deps=draw(earlier), ctrl_deps=draw(earlier)))
    return draw(st.permutations(nodes))


def parents(node: Node, semantics: str) -> set[int]:
    return set(node.data_deps + (node.ctrl_deps if semantics == "v3" else []))


def slow_order(nodes: list[Node], semantics: str) -> list[int]:
    """The lowest id of those whose parents are all done, again and again."""
    done: list[int] = []
    while len(done) < len(nodes):
        ready = [
            node.id
            for node in nodes
            if node.id not in done and parents(node, semantics) <= set(done)
        ]
        done.append(min(ready))
    return done


@given(acyclic(), SEMANTICS)
def test_the_order_is_that_of_the_slow_oracle(nodes: list[Node], semantics: str) -> None:
    assert issue_order(Trace(nodes), semantics) == slow_order(nodes, semantics)  # type: ignore[arg-type]


@given(acyclic(), SEMANTICS, st.randoms(use_true_random=False))
def test_any_way_to_use_it_issues_each_node_once_after_its_parents(
    nodes: list[Node], semantics: str, dice: object
) -> None:
    feeder = Feeder(Trace(nodes), semantics)  # type: ignore[arg-type]
    by_id = {node.id: node for node in nodes}
    taken: set[int] = set()
    done: list[int] = []
    while len(feeder):
        node = feeder.next_issuable() if dice.random() < 0.6 else None  # type: ignore[attr-defined]
        if node is not None:
            assert node == by_id[node.id]
            assert parents(node, semantics) <= set(done)
            taken.add(node.id)
        elif taken:
            id = dice.choice(sorted(taken))  # type: ignore[attr-defined]
            taken.remove(id)
            if dice.random() < 0.3:  # type: ignore[attr-defined]
                feeder.push_back(id)
            else:
                feeder.free_children(id)
                done.append(id)
        assert feeder.taken() == tuple(sorted(taken))
        assert len(feeder) == len(nodes) - len(done)
    assert sorted(done) == sorted(by_id)
    assert not feeder.has_nodes_to_issue()


@given(acyclic(), SEMANTICS)
def test_nodes_added_by_hand_make_the_same_feeder(nodes: list[Node], semantics: str) -> None:
    feeder = Feeder(semantics=semantics)  # type: ignore[arg-type]
    added: set[int] = set()
    while len(added) < len(nodes):
        for node in nodes:
            if node.id not in added and set(node.data_deps + node.ctrl_deps) <= added:
                feeder.add(node)
                added.add(node.id)
    assert [node.id for node in feeder] == slow_order(nodes, semantics)


@given(acyclic(), st.data())
def test_a_cycle_is_refused_where_it_counts(nodes: list[Node], draw: st.DataObject) -> None:
    if not nodes:
        return
    first = draw.draw(st.sampled_from(nodes))
    last = draw.draw(st.sampled_from(nodes))
    last.ctrl_deps.append(first.id)
    first.ctrl_deps.append(last.id)
    issue_order(Trace(nodes), "v1")
    with pytest.raises(TraceError, match="form a cycle"):
        Feeder(Trace(nodes), "v3")
    first.data_deps.append(last.id)
    last.data_deps.append(first.id)
    with pytest.raises(TraceError, match="form a cycle"):
        Feeder(Trace(nodes), "v1")


def test_states_follow_each_other() -> None:
    feeder = Feeder(Trace([Node(5), Node(3, data_deps=[5, 5])]))
    assert feeder.state(5) is State.PENDING
    node = feeder.next_issuable()
    assert node is not None
    assert node.id == 5
    assert feeder.state(5) is State.TAKEN
    assert feeder.next_issuable() is None
    assert not feeder.has_nodes_to_issue()
    feeder.push_back(5)
    assert feeder.state(5) is State.PENDING
    feeder.next_issuable()
    assert feeder.children(5) == (3,)
    feeder.free_children(5)
    assert feeder.state(5) is State.FINISHED
    feeder.remove(5)
    assert [node.id for node in feeder] == [3]


def test_v1_has_nodes_until_all_are_finished() -> None:
    feeder = Feeder(Trace([Node(1)]), "v1")
    feeder.next_issuable()
    assert feeder.has_nodes_to_issue()
    feeder.free_children(1)
    assert not feeder.has_nodes_to_issue()


@pytest.mark.parametrize(
    ("nodes", "semantics", "problem"),
    [
        ([Node(1), Node(1)], "v1", "feeder: node 1: the id is given twice"),
        (
            [Node(1, "a", data_deps=[9])],
            "v1",
            "feeder: node 1 'a': its data dependency 9 names no node of this trace",
        ),
        (
            [Node(1, "a", ctrl_deps=[8, 9])],
            "v3",
            "feeder: node 1 'a': its control dependency 8 names no node of this trace "
            "(2 such ids); semantics v1 looks at data dependencies only",
        ),
        (
            [Node(1, data_deps=[2]), Node(2, data_deps=[1]), Node(3, data_deps=[2])],
            "v1",
            "feeder: 3 nodes can never be issued, because dependencies form a cycle: "
            "node 1 waits for 2 waits for 1",
        ),
        (
            [Node(7, data_deps=[7])],
            "v3",
            "feeder: 1 node can never be issued, because dependencies form a cycle: "
            "node 7 waits for 7",
        ),
        ([], "v2", "feeder: semantics must be v1 or v3, got 'v2'"),
    ],
)
def test_a_trace_that_cannot_be_walked_is_refused(
    nodes: list[Node], semantics: str, problem: str
) -> None:
    with pytest.raises(TraceError) as error:
        Feeder(Trace(nodes), semantics)  # type: ignore[arg-type]
    assert str(error.value) == problem


def test_misuse_is_named() -> None:
    feeder = Feeder(Trace([Node(1)]))
    for call, problem in [
        (lambda: feeder.lookup(4), "feeder: the trace has no node 4"),
        (
            lambda: feeder.free_children(1),
            "feeder: node 1 is pending; only a node that was issued can be finished",
        ),
        (
            lambda: feeder.push_back(1),
            "feeder: node 1 is pending; only a node that was issued can be pushed back",
        ),
        (
            lambda: feeder.remove(1),
            "feeder: node 1 is pending and cannot be removed; finish it first",
        ),
        (lambda: feeder.add(Node(1, "x")), "feeder: node 1 'x': the id is taken"),
        (
            lambda: feeder.add(Node(2, "x", data_deps=[3])),
            "feeder: node 2 'x' depends on node 3, but the trace has no node 3",
        ),
    ]:
        with pytest.raises(TraceError) as error:
            call()
        assert str(error.value) == problem
