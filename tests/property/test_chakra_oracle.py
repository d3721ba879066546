"""Our reader and writer of Chakra traces against the `protobuf` package."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.oracles import chakra_protobuf as oracle
from yantra import _core

UINT64 = st.integers(0, 2**64 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "double": st.floats(),
    "float": st.floats(width=32),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": UINT64,
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "fixed64": UINT64,
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": TEXT,
    "bytes": st.binary(max_size=12),
}


@st.composite
def attributes(draw: st.DrawFn, kinds: oracle.Messages) -> Any:
    message = kinds.attribute(name=draw(TEXT), doc_string=draw(st.just("") | TEXT))
    scalar = draw(st.sampled_from(["", *oracle.SCALARS]))
    if scalar and draw(st.booleans()):
        values = getattr(message, f"{scalar}_list")
        values.SetInParent()
        values.values.extend(draw(st.lists(VALUES[scalar], max_size=5)))
    elif scalar:
        setattr(message, f"{scalar}_val", draw(VALUES[scalar]))
    _set_later_fields(draw, message)
    return message


@st.composite
def nodes(draw: st.DrawFn, kinds: oracle.Messages) -> Any:
    message = kinds.node(
        id=draw(UINT64),
        name=draw(TEXT),
        type=draw(st.integers(0, 7) | st.integers(-(2**31), 2**31 - 1)),
        start_time_micros=draw(UINT64),
        duration_micros=draw(UINT64),
        ctrl_deps=draw(st.lists(UINT64, max_size=4)),
        data_deps=draw(st.lists(UINT64, max_size=4)),
        attr=draw(st.lists(attributes(kinds), max_size=4)),
    )
    for side in draw(st.sets(st.sampled_from(["inputs", "outputs"]))):
        io = getattr(message, side)
        io.SetInParent()
        io.values, io.shapes, io.types = draw(TEXT), draw(TEXT), draw(TEXT)
        _set_later_fields(draw, io)
    _set_later_fields(draw, message)
    return message


@st.composite
def traces(draw: st.DrawFn, *, packed: bool = True, later_fields: bool = False) -> bytes:
    kinds = oracle.messages(packed=packed, later_fields=later_fields)
    metadata = kinds.metadata(
        version=draw(TEXT), attr=draw(st.lists(attributes(kinds), max_size=2))
    )
    _set_later_fields(draw, metadata)
    parts = [metadata, *draw(st.lists(nodes(kinds), max_size=4))]
    return oracle.frame([part.SerializeToString(deterministic=True) for part in parts])


def _set_later_fields(draw: st.DrawFn, message: Any) -> None:
    if hasattr(message, "later_number") and draw(st.booleans()):
        message.later_number = draw(VALUES["sint64"])
        message.later_text = draw(TEXT)
        message.later_double = draw(VALUES["double"])
        message.later_float = draw(VALUES["float"])


def as_read(trace: _core.Trace, record: int) -> dict[str, Any]:
    return {
        "id": trace.id[record],
        "name": trace.name(record),
        "type": trace.type[record],
        "data_deps": trace.data_deps(record),
        "ctrl_deps": trace.ctrl_deps(record),
        "start_micros": trace.start_micros[record],
        "duration_micros": trace.duration_micros[record],
        "inputs": trace.inputs(record),
        "outputs": trace.outputs(record),
        "attributes": [plain(row) for row in trace.attributes(record)],
    }


def plain(row: _core.AttributeRow) -> tuple[str, int, str, str]:
    name, kind, value, doc = row
    return (name, kind, repr(value), doc)


def assert_read_alike(data: bytes) -> None:
    trace = _core.decode_trace(data)
    metadata, messages = oracle.parse(data)
    assert trace.version == metadata.version
    assert [plain(row) for row in trace.metadata] == [
        oracle.plain_attribute(item) for item in metadata.attr
    ]
    assert [as_read(trace, record) for record in range(len(trace))] == [
        oracle.plain_node(message) for message in messages
    ]


@given(traces())
def test_what_protobuf_writes_is_read_alike(data: bytes) -> None:
    assert_read_alike(data)


@given(traces())
def test_what_is_read_is_written_back_byte_for_byte_as_protobuf_does(data: bytes) -> None:
    assert _core.decode_trace(data).encode() == data


@given(traces(packed=False))
def test_unpacked_lists_are_read_like_packed_ones(data: bytes) -> None:
    assert_read_alike(data)


@given(traces(later_fields=True))
def test_fields_of_a_later_schema_are_skipped(data: bytes) -> None:
    assert_read_alike(data)


@given(traces(packed=False, later_fields=True))
def test_writing_drops_nothing_the_schema_knows(data: bytes) -> None:
    assert_read_alike(_core.decode_trace(data).encode())
    again = _core.decode_trace(data).encode()
    assert [oracle.plain_node(m) for m in oracle.parse(again)[1]] == [
        oracle.plain_node(m) for m in oracle.parse(data)[1]
    ]


@given(traces(), traces())
def test_messages_given_in_parts_are_merged_as_protobuf_merges_them(one: bytes, two: bytes) -> None:
    merged = [a + b for a, b in zip(oracle.records(one), oracle.records(two), strict=False)]
    assert_read_alike(oracle.frame(merged))


@given(st.lists(attributes(oracle.messages()), min_size=2, max_size=4))
def test_the_last_value_of_an_attribute_counts_and_parts_of_a_list_are_joined(
    parts: list[Any],
) -> None:
    from tests.oracles.chakra_wire import block, trace_bytes

    joined = b"".join(part.SerializeToString() for part in parts)
    assert_read_alike(trace_bytes(block(10, joined)))


@given(traces(), st.data())
def test_whatever_is_accepted_protobuf_reads_alike(data: bytes, draw: st.DataObject) -> None:
    broken = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        place = draw.draw(st.integers(0, len(broken) - 1))
        broken[place] = draw.draw(st.integers(0, 255))
    _accepted_alike(bytes(broken))


@given(st.binary(max_size=60))
@example(b"\x00\x02\x08\x01")
def test_random_bytes_are_refused_or_read_as_protobuf_reads_them(data: bytes) -> None:
    _accepted_alike(data)


def _accepted_alike(data: bytes) -> None:
    try:
        trace = _core.decode_trace(data)
    except _core.TraceFault:
        return
    if trace.layout == "0.0.4":  # the others have an oracle of their own
        assert_read_alike(data)
