"""Traces built in Python come back from their files unchanged."""

from __future__ import annotations

import gzip
import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yantra import chakra
from yantra.chakra import Attribute, IOInfo, Kind, Metadata, Node, NodeType, Trace

TEXT = st.text(st.characters(codec="utf-8"), max_size=10)
UINT64 = st.integers(0, 2**64 - 1)


def whole(bits: int, signed: bool) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)) if signed else 0, 2 ** (bits - signed) - 1)


SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.DOUBLE: st.floats(allow_nan=False),
    Kind.FLOAT: st.floats(allow_nan=False, width=32),
    **{
        Kind[f"{sign}INT{bits}"]: whole(bits, sign != "U")
        for sign in ("", "S", "U")
        for bits in (32, 64)
    },
    **{
        Kind[f"{sign}FIXED{bits}"]: whole(bits, sign == "S")
        for sign in ("", "S")
        for bits in (32, 64)
    },
    Kind.BOOL: st.booleans(),
    Kind.STRING: TEXT,
    Kind.BYTES: st.binary(max_size=10),
}


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    kind = draw(st.sampled_from(list(Kind)))
    if kind is Kind.NONE:
        value = None
    elif kind.is_list:
        value = draw(st.lists(SCALARS[kind.element], max_size=4))
    else:
        value = draw(SCALARS[kind])
    return Attribute(draw(TEXT), value, kind, draw(TEXT))


IO = st.none() | st.builds(IOInfo, TEXT, TEXT, TEXT)
NODES = st.builds(
    Node,
    UINT64,
    TEXT,
    st.sampled_from(NodeType) | st.integers(-(2**31), 2**31 - 1),
    UINT64,
    st.lists(UINT64, max_size=4),
    st.lists(UINT64, max_size=4),
    st.lists(attributes(), max_size=4),
    start_micros=UINT64,
    inputs=IO,
    outputs=IO,
)
METADATA = st.builds(Metadata, TEXT, st.lists(attributes(), max_size=3).map(tuple))


@given(st.lists(NODES, max_size=5), METADATA)
def test_a_trace_is_read_as_it_was_built(nodes: list[Node], metadata: Metadata) -> None:
    trace = Trace(nodes, metadata)
    again = chakra.read(trace.to_bytes())
    assert list(again) == nodes == list(trace)
    assert again.metadata == metadata
    assert again == trace
    assert hash(again) == hash(trace)


@given(st.lists(NODES, max_size=3))
def test_gzip_makes_no_difference_to_what_is_read(nodes: list[Node]) -> None:
    data = Trace(nodes).to_bytes()
    assert chakra.read(gzip.compress(data)) == chakra.read(data)


@given(st.floats(width=32))
def test_a_float_is_kept_to_the_bit(value: float) -> None:
    trace = Trace([Node(1, attributes=[Attribute("x", value, Kind.FLOAT)])])
    (read,) = (node.get("x") for node in chakra.read(trace.to_bytes()))
    assert struct.pack("<f", read) == struct.pack("<f", value)


@given(st.lists(NODES, min_size=1, max_size=4), st.data())
def test_a_trace_cut_short_is_refused_or_ends_between_two_nodes(
    nodes: list[Node], draw: st.DataObject
) -> None:
    data = Trace(nodes).to_bytes()
    cut = data[: draw.draw(st.integers(1, len(data) - 1))]
    findings = chakra.validate(cut)
    if not any(finding.code == "malformed" for finding in findings):
        assert list(chakra.read(cut)) == nodes[: len(chakra.read(cut))]
