"""Laws of `chakra diff`: nothing for equal traces, one finding for one change, whatever the ids."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.chakra import IOInfo, Kind, Metadata, Node, NodeType, Trace
from yantra.tracing.inspect.diff import ABSENT, Change, diff
from yantra.tracing.inspect.diff.match import longest_increasing
from yantra.tracing.inspect.diff.report import as_dict, text

ATTRIBUTES = st.dictionaries(
    st.sampled_from(["x", "y", "z"]),
    st.integers(-3, 3) | st.floats() | st.text("ab", max_size=2) | st.booleans(),
    max_size=3,
)


@st.composite
def graphs(draw: st.DrawFn, *, distinct: bool = False, smallest: int = 0) -> Trace:
    count = draw(st.integers(smallest, 12))
    ids = draw(st.lists(st.integers(0, 60), min_size=count, max_size=count, unique=True))
    nodes: list[Node] = []
    for at, id in enumerate(ids):
        before = st.lists(st.sampled_from(ids[:at]), max_size=3, unique=True) if at else st.just([])
        node = Node(
            id,
            f"n{at}" if distinct else draw(st.sampled_from("abc")),
            draw(st.sampled_from([NodeType.COMP, NodeType.COMM_COLL])),
            draw(st.integers(0, 3)),
            draw(before),
            draw(before),
            draw(ATTRIBUTES),
            start_micros=draw(st.integers(0, 2)),
            inputs=draw(st.none() | st.just(IOInfo("[1]", "[]", "[]"))),
        )
        nodes.append(node)
    return Trace(nodes, Metadata(draw(st.sampled_from(["", "1"])), ()))


def renumbered(trace: Trace, dice: random.Random, *, shuffled: bool = False) -> Trace:
    ids = [node.id for node in trace]
    new = dict(zip(ids, dice.sample(range(100, 300), len(ids)), strict=True))
    nodes = []
    for node in trace:
        node.id = new[node.id]
        node.data_deps = [new[id] for id in node.data_deps]
        node.ctrl_deps = [new[id] for id in node.ctrl_deps]
        nodes.append(node)
    if shuffled:
        dice.shuffle(nodes)
    return Trace(nodes, trace.metadata)


@given(graphs())
def test_a_trace_does_not_differ_from_itself(trace: Trace) -> None:
    assert diff(trace, trace).equal
    assert diff(trace, Trace(list(trace), trace.metadata)).equal


@given(graphs(), graphs())
def test_a_difference_is_found_exactly_where_there_is_one(a: Trace, b: Trace) -> None:
    found = diff(a, b)
    assert found.equal == (a == b)
    back = diff(b, a)
    assert len(found.removed) - len(found.added) == len(a) - len(b)
    assert bool(found.metadata) == (a.metadata != b.metadata)
    assert back.equal == found.equal
    assert text(found, ("a", "b"), 3) and as_dict(found, ("a", "b"), 3)


@given(graphs(smallest=1), st.randoms(use_true_random=False))
def test_new_ids_are_all_there_is_to_tell(trace: Trace, dice: random.Random) -> None:
    found = diff(trace, renumbered(trace, dice))
    assert (found.removed, found.added, found.changed, found.moved) == ((), (), (), ())
    assert len(found.renumbered) == len(trace)
    assert all(at == to for at, to in found.renumbered)
    assert diff(trace, renumbered(trace, dice), ["ids"]).equal


@given(graphs(smallest=1, distinct=True), st.randoms(use_true_random=False))
def test_new_ids_and_another_order_are_told_apart(trace: Trace, dice: random.Random) -> None:
    other = renumbered(trace, dice, shuffled=True)
    found = diff(trace, other)
    assert (found.removed, found.added, found.changed) == ((), (), ())
    assert len(found.renumbered) == len(trace)
    assert [trace[at].name for at, _ in found.renumbered] == [
        other[to].name for _, to in found.renumbered
    ]
    ignoring = diff(trace, other, ["ids", "order"])
    assert ignoring.equal


Mutation = Callable[[Node], Change]


def rename(node: Node) -> Change:
    before, node.name = node.name, node.name + "!"
    return Change("name", before, node.name)


def retype(node: Node) -> Change:
    before, node.type = NodeType(node.type), NodeType.MEM_LOAD
    return Change("type", before.name, "MEM_LOAD")


def lengthen(node: Node) -> Change:
    node.duration_micros += 7
    return Change("duration_micros", node.duration_micros - 7, node.duration_micros)


def delay(node: Node) -> Change:
    node.start_micros += 7
    return Change("start_micros", node.start_micros - 7, node.start_micros)


def give_outputs(node: Node) -> Change:
    node.outputs = IOInfo("[2]", "[]", "[]")
    return Change("outputs", None, ("[2]", "[]", "[]"))


def give_an_attribute(node: Node) -> Change:
    node.set("new", 5)
    return Change("attribute new", ABSENT, 5)


def change_the_kind(node: Node) -> Change:
    node.set("k", 1, Kind.UINT32)
    return Change("attribute k", "1 (int64)", "1 (uint32)")


def wait_for_nothing(node: Node) -> Change:
    node.data_deps.append(999)
    return Change("data_deps", [], [999])


def wait_for_control(node: Node) -> Change:
    node.ctrl_deps.append(node.id)
    return Change("ctrl_deps", [], [node.id])


MUTATIONS: list[Mutation] = [
    rename,
    retype,
    lengthen,
    delay,
    give_outputs,
    give_an_attribute,
    change_the_kind,
    wait_for_nothing,
    wait_for_control,
]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda item: item.__name__)
@given(graphs(smallest=1), st.data())
def test_one_change_is_one_finding(mutation: Mutation, trace: Trace, data: st.DataObject) -> None:
    nodes = list(trace)
    at = data.draw(st.integers(0, len(nodes) - 1))
    if mutation is change_the_kind:
        nodes[at].set("k", 1)
    before = Trace(copy.deepcopy(nodes))
    change = mutation(nodes[at])
    found = diff(before, Trace(nodes))
    assert (found.renumbered, found.moved, found.removed, found.added) == ((), (), (), ())
    assert [(node.record, node.other, node.changes) for node in found.changed] == [
        (at, at, (change,))
    ]
    ignored = change.field.removeprefix("attribute ")
    assert diff(before, Trace(nodes), [ignored]).equal


@given(graphs(distinct=True, smallest=2), st.data(), st.randoms(use_true_random=False))
def test_one_change_is_one_finding_under_new_ids(
    trace: Trace, data: st.DataObject, dice: random.Random
) -> None:
    other = list(renumbered(trace, dice))
    at = data.draw(st.integers(0, len(other) - 1))
    change = data.draw(st.sampled_from([rename, retype, lengthen, give_an_attribute]))(other[at])
    found = diff(trace, Trace(other, trace.metadata))
    assert len(found.renumbered) == len(other)
    assert (found.moved, found.removed, found.added) == ((), (), ())
    assert [(node.record, node.changes) for node in found.changed] == [(at, (change,))]


@given(graphs(distinct=True, smallest=1), st.data(), st.booleans())
def test_a_missing_node_is_told_with_the_edges_to_it(
    trace: Trace, data: st.DataObject, shifted: bool
) -> None:
    at = data.draw(st.integers(0, len(trace) - 1))
    gone = trace[at].id
    rest = [node for node in trace if node.id != gone]
    waiting = [node.name for node in rest if gone in (*node.data_deps, *node.ctrl_deps)]
    for node in rest:
        node.data_deps = [id + 100 * shifted for id in node.data_deps if id != gone]
        node.ctrl_deps = [id + 100 * shifted for id in node.ctrl_deps if id != gone]
        node.id += 100 * shifted
    found = diff(trace, Trace(rest, trace.metadata))
    assert [trace[record].id for record in found.removed] == [gone]
    assert (found.added, found.moved) == ((), ())
    assert [trace[node.record].name for node in found.changed] == waiting
    assert len(found.renumbered) == shifted * len(rest)
    back = diff(Trace(rest, trace.metadata), trace)
    assert (back.added, back.removed) == (found.removed, ())


@given(graphs(distinct=True, smallest=2), st.data())
def test_a_moved_node_is_told_alone(trace: Trace, data: st.DataObject) -> None:
    nodes = list(trace)
    at = data.draw(st.integers(0, len(nodes) - 2))
    moved = nodes.pop(at)
    nodes.append(moved)
    found = diff(trace, Trace(nodes, trace.metadata))
    assert found.moved and len(found.moved) == 1
    assert found._replace(moved=()).equal


@given(st.lists(st.integers(0, 20), max_size=30, unique=True))
def test_the_longest_increasing_run_is_one(values: list[int]) -> None:
    chain = [values[at] for at in longest_increasing(values)]
    assert chain == sorted(set(chain))
    best = [1] * len(values)
    for at, value in enumerate(values):
        best[at] = 1 + max((best[to] for to in range(at) if values[to] < value), default=0)
    assert len(chain) == max(best, default=0)
