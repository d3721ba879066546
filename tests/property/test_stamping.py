"""A stamped trace equals copying node by node; what does not fit adds nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.stamping import PlainStamper
from tests.property.chakra_traces import METADATA, NODES
from tests.property.test_usual_graphs import LABEL, USUAL, told
from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import Attribute, Kind, Metadata, Node, Trace, TraceBuilder
from yantra.chakra.stamping import Copies, Edge, TemplateBuilder

_KINDS = st.sampled_from([Kind.INT32, Kind.INT64, Kind.UINT64, Kind.SINT32, Kind.FIXED32])


@st.composite
def blocks(draw: st.DrawFn) -> Trace:
    nodes = draw(st.lists(NODES, max_size=5))
    for place, node in enumerate(nodes):
        node.id = place
        earlier = st.lists(st.integers(0, max(place - 1, 0)), max_size=3 if place else 0)
        node.data_deps, node.ctrl_deps = draw(earlier), draw(earlier)
        for name in draw(st.lists(st.sampled_from(["microbatch", "comm_tag"]), max_size=3)):
            item = Attribute(name, draw(st.integers(0, 9)), draw(_KINDS), draw(st.text(max_size=3)))
            node.attributes.insert(draw(st.integers(0, len(node.attributes))), item)
    return Trace(nodes)


@st.composite
def usual_blocks(draw: st.DrawFn) -> Trace:
    nodes = []
    for place in range(draw(st.integers(0, 5))):
        earlier = st.lists(st.integers(0, max(place - 1, 0)), max_size=3 if place else 0)
        attributes = draw(st.lists(USUAL, max_size=4, unique_by=lambda item: item.name))
        named = (place, draw(LABEL), draw(st.integers(-1, 9)), draw(st.integers(0, 9)))
        nodes.append(Node(*named, draw(earlier), draw(earlier), attributes))
    return Trace(nodes)


@given(st.lists(blocks(), min_size=1, max_size=3), METADATA, st.data())
def test_stamped_is_what_copying_by_hand_makes(
    given_blocks: list[Trace], metadata: Metadata, data: st.DataObject
) -> None:
    fast, plain = TemplateBuilder(metadata), PlainStamper(metadata)
    for _ in range(data.draw(st.integers(0, 5))):
        block = data.draw(st.sampled_from(given_blocks))
        edges: list[Edge] = []
        if len(block) and len(fast):
            places, ids = st.integers(0, len(block) - 1), st.integers(0, len(fast) - 1)
            edges = data.draw(st.lists(st.tuples(places, ids, st.booleans()), max_size=4))
        number = data.draw(st.none() | st.integers(0, 99))
        tags = data.draw(st.integers(0, 2**30))
        first = fast.stamp(block, edges, microbatch=number, tag_base=tags)
        assert first == plain.stamp(block, edges, number, tags)
        assert len(fast) == len(plain.nodes)
    assert fast.to_bytes() == plain.build().to_bytes()
    assert fast.to_bytes() == plain.build().to_bytes(), "also when it is asked again"


@given(st.lists(usual_blocks(), min_size=1, max_size=3), st.data())
def test_a_graph_of_copies_is_that_of_their_file(
    given_blocks: list[Trace], data: st.DataObject
) -> None:
    builder = _core.Stamper(Trace(metadata=Metadata("1", ())).native)
    for _ in range(data.draw(st.integers(0, 5))):
        block = data.draw(st.sampled_from(given_blocks))
        edges: list[_core.StampEdge] = []
        if len(block) and len(builder):
            places, ids = st.integers(0, len(block) - 1), st.integers(0, len(builder) - 1)
            tied = st.builds(_core.StampEdge, places, ids, st.booleans())
            edges = data.draw(st.lists(tied, max_size=4))
        builder.stamp(block.native, edges, data.draw(st.none() | st.integers(0, 99)), 7)
    copies = Copies(builder)
    made = copies.graph()
    decoded = _core.decode_graph(copies.to_bytes(), False, False)
    assert (made is None) == bool(decoded.diagnostics or len(decoded.involved_len))
    if made is not None:
        assert told(made) == told(decoded)


def _tagged(tag: int, kind: Kind) -> list[Node]:
    return [Node(0, "send", attributes=[Attribute("comm_tag", tag, kind)])]


REFUSED: dict[str, tuple[list[Node], Sequence[Edge], int, str]] = {
    "an id that is not the place": ([Node(1, "a")], (), 0, "its id must be 0, its place"),
    "a parent that comes later": (
        [Node(0, "a", ctrl_deps=[1]), Node(1)],
        (),
        0,
        "node 0 'a' of the block: it must depend on earlier nodes only",
    ),
    "a parent outside": ([Node(0, "a", data_deps=[5])], (), 0, "earlier nodes only"),
    "an edge to no node": ([Node(0)], [(1, 0, False)], 0, "the block has 1 nodes"),
    "an edge from no node": ([Node(0)], [(0, 2, False)], 0, "only 2 nodes are there"),
    "an edge below 0": ([Node(0)], [(0, -1, False)], 0, "numbers from 0 to 2^63 - 1 only"),
    "a tag of 33 bits": (_tagged(2**31 - 1, Kind.INT32), (), 1, "cannot hold 2147483648"),
    "a tag of 65 bits": (_tagged(2**63 - 1, Kind.INT64), (), 1, "int64 cannot hold so much"),
    "a tag below 0": (_tagged(3, Kind.UINT64), (), -4, "uint64 cannot hold -1"),
    "a tag that is text": (
        [Node(0, attributes=[Attribute("comm_tag", "x", Kind.STRING)])],
        (),
        1,
        "attribute comm_tag must be an integer",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_does_not_fit_is_refused_and_adds_nothing(why: str) -> None:
    nodes, edges, tags, text = REFUSED[why]
    out = TemplateBuilder()
    out.stamp(Trace([Node(0), Node(1)]))
    before = out.to_bytes()
    with pytest.raises(TraceError) as caught:
        out.stamp(Trace(nodes), edges, tag_base=tags)
    assert text in str(caught.value)
    assert out.to_bytes() == before


def test_a_block_is_encoded_once_and_may_go_away() -> None:
    out = TemplateBuilder()
    for number in range(100):
        builder = TraceBuilder()
        builder.compute(f"n{number}", num_ops=number)["microbatch"] = 0
        out.stamp(builder.build(), microbatch=number)
    assert [node["microbatch"] for node in out.build()] == list(range(100))
    assert [node.name for node in out.build()] == [f"n{number}" for number in range(100)]
