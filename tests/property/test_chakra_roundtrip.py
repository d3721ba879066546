"""Traces built in Python come back from their files unchanged."""

from __future__ import annotations

import gzip
import struct

from hypothesis import given
from hypothesis import strategies as st

from tests.property.chakra_traces import METADATA, NODES
from yantra import chakra
from yantra.chakra import Attribute, Kind, Metadata, Node, Trace


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
