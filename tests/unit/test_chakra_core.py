"""The core's trace reader on traces spelled out byte by byte: no writer can hide its errors."""

from __future__ import annotations

import pytest

from tests.oracles.chakra_wire import (
    attribute,
    block,
    ctrl_deps,
    data_deps,
    int64,
    node,
    number,
    record,
    tag,
    trace_bytes,
)
from yantra import _core

COMM_SIZE = attribute("comm_size", int64(1 << 20))


def test_fields_of_a_node_are_read_as_written() -> None:
    trace = _core.decode_trace(
        trace_bytes(node(7, "all-reduce", number(3, 7), number(6, 5), number(7, 9), COMM_SIZE))
    )
    assert len(trace) == 1
    assert trace.id.tolist() == [7]
    assert trace.name(0) == "all-reduce"
    assert trace.type.tolist() == [7]
    assert trace.start_micros.tolist() == [5]
    assert trace.duration_micros.tolist() == [9]
    assert trace.attributes(0) == [("comm_size", 9, 1 << 20, "")]


def test_a_record_of_length_zero_is_a_node_and_not_the_end_of_the_file() -> None:
    trace = _core.decode_trace(trace_bytes(b"", node(1, "after")))
    assert trace.id.tolist() == [0, 1]


def test_nodes_are_numbered_by_ascending_id_whatever_their_place_in_the_file() -> None:
    graph = _core.decode_trace(trace_bytes(node(30, "c"), node(10, "a"), node(20, "b"))).graph()
    assert graph.id.tolist() == [10, 20, 30]
    assert [graph.name(i) for i in range(3)] == ["a", "b", "c"]
    assert graph.file_order.tolist() == [2, 0, 1]


def test_parents_are_distinct_and_data_dependencies_come_first() -> None:
    graph = _core.decode_trace(
        trace_bytes(node(1, "a"), node(2, "b"), node(3, "c", ctrl_deps(1, 2), data_deps(2, 2)))
    ).graph()
    assert graph.parent_count.tolist() == [0, 0, 2]
    assert graph.parent.tolist() == [1, 0]


def test_children_stand_in_file_order() -> None:
    graph = _core.decode_trace(
        trace_bytes(node(9, "z", data_deps(1)), node(1, "a"), node(5, "m", data_deps(1)))
    ).graph()
    assert graph.child.tolist() == [2, 1]
    assert graph.child_begin.tolist() == [0, 2, 2, 2]


def test_a_duplicate_id_is_one_node_with_the_last_body_and_all_dependencies() -> None:
    trace = _core.decode_trace(
        trace_bytes(
            node(1, "a"),
            node(3, "old", number(7, 4), data_deps(1)),
            node(2, "b"),
            node(3, "new", number(7, 8), data_deps(2, 1)),
        )
    )
    graph = trace.graph(merge_duplicates=True)
    assert graph.name(2) == "new"
    assert graph.duration_micros.tolist() == [0, 0, 8]
    assert graph.parent.tolist() == [0, 1]
    assert graph.file_order.tolist() == [0, 2, 1]
    assert not graph.has_errors
    assert trace.graph().has_errors


def test_an_integer_column_exists_only_if_a_node_has_the_attribute() -> None:
    graph = _core.decode_trace(trace_bytes(node(1, "a", COMM_SIZE), node(2, "b"))).graph()
    kinds, values = graph.comm_size.kind, graph.comm_size.value
    assert kinds.tolist() == [1, 0]
    assert values.tolist() == [1 << 20, 0]
    assert [graph.num_ops.kind.tolist(), graph.num_ops.value.tolist()] == [[], []]


def test_one_cycle_is_named_from_its_smallest_id() -> None:
    graph = _core.decode_trace(
        trace_bytes(
            node(1, "free"),
            node(4, "x", data_deps(6)),
            node(5, "y", data_deps(4)),
            node(6, "z", ctrl_deps(5)),
            node(7, "behind", data_deps(6)),
        )
    ).graph()
    (finding,) = graph.diagnostics
    assert finding.code == "cycle"
    assert finding.text == (
        "nodes 4 -> 5 -> 6 -> 4 wait for each other in a circle; 4 nodes can never run"
    )


def test_a_broken_record_is_named_with_its_byte() -> None:
    with pytest.raises(_core.TraceFault) as caught:
        _core.decode_trace(trace_bytes(node(4, "a")[:-1]))
    assert str(caught.value) == (
        "byte 5: node record 1 (id 4): "
        "a field of 1 byte reaches past the end of its message; 0 bytes are left"
    )


def graph_of(*attributes: bytes) -> _core.Graph:
    return _core.decode_trace(trace_bytes(node(1, "a", *attributes), node(2, "b"))).graph()


def string(name: str, value: bytes) -> bytes:
    return attribute(name, block(29, value))


def string_list(name: str, *values: bytes) -> bytes:
    return attribute(name, block(30, b"".join(block(1, value) for value in values)))


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (number(7, 2**64 - 5), 2**64 - 5),  # int32 -5, sign-extended on the wire
        (number(9, 2**64 - 5), 2**64 - 5),  # int64 -5
        (number(11, 5), 5),  # uint32
        (number(13, 2**64 - 1), 2**64 - 1),  # uint64
        (number(15, 9), 2**64 - 5),  # sint32 -5
        (number(17, 9), 2**64 - 5),  # sint64 -5
        (tag(19, 5) + b"\xff\xff\xff\xff", 2**32 - 1),  # fixed32
        (tag(23, 5) + b"\xfb\xff\xff\xff", 2**64 - 5),  # sfixed32 -5
        (number(27, 1), 1),  # bool
    ],
)
def test_an_integer_of_any_kind_is_lifted_as_64_bits(value: bytes, bits: int) -> None:
    tags = graph_of(attribute("comm_tag", value)).comm_tag
    kinds, values = tags.kind, tags.value
    assert kinds.tolist() == [1, 0]
    assert values.tolist() == [bits, 0]


def test_the_first_attribute_of_a_name_counts_even_if_it_is_of_a_wrong_type() -> None:
    graph = graph_of(string("comm_size", b"1"), COMM_SIZE)
    assert graph.comm_size.kind.tolist() == [2, 0]
    graph = graph_of(COMM_SIZE, string("comm_size", b"1"))
    assert graph.comm_size.kind.tolist() == [1, 0]
    assert graph.diagnostics == []


def test_group_names_are_told_from_absent_and_wrong_ones() -> None:
    graph = _core.decode_trace(
        trace_bytes(
            node(1, "a", string("pg_name", b"tp")),
            node(2, "b"),
            node(3, "c", attribute("pg_name", int64(1))),
            node(4, "d", attribute("pg_name", block(31, b"tp"))),
            node(5, "e", string("pg_name", b"")),
        )
    ).graph()
    assert graph.pg_name.tolist() == [0, -1, -2, 0, 1]
    assert graph.pg_names == ["tp", ""]


def test_involved_dimensions_are_bits_from_the_lowest() -> None:
    graph = graph_of(attribute("involved_dim", block(28, block(1, b"\x01\x00\x01\x01"))))
    assert graph.involved_mask.tolist() == [0b1101, 0]
    assert graph.involved_len.tolist() == [4, 0]
    assert graph_of().involved_len.tolist() == []


def test_tensors_are_pairs_of_name_and_bytes() -> None:
    graph = graph_of(
        string_list("inputs", b"x", b"64", b"y", b"262144.0"), string_list("outputs", b"y", b"8")
    )
    inputs = graph.inputs
    kind, begin, tensor, size_bytes = inputs.kind, inputs.begin, inputs.tensor, inputs.size_bytes
    assert kind.tolist() == [1, 0]
    assert begin.tolist() == [0, 2, 2]
    assert [graph.tensor_names[index] for index in tensor] == ["x", "y"]
    assert size_bytes.tolist() == [64, 262144]
    assert graph.tensor_names[graph.outputs.tensor[0]] == "y"


@pytest.mark.parametrize("value", [block(30, b""), b""])
def test_an_empty_tensor_list_is_a_list(value: bytes) -> None:
    graph = graph_of(attribute("inputs", value))
    assert graph.inputs.kind.tolist() == [1, 0]
    assert graph.diagnostics == []


@pytest.mark.parametrize(
    "content",
    [
        trace_bytes(node(1) + number(2**29 - 1, 5)),  # the highest field number
        trace_bytes() + b"\x82\x80\x80\x80\x00" + node(1),  # a length written in five bytes
        trace_bytes(node(1) + number(99, 2**64 - 1)),  # the longest number
        trace_bytes(node(1) + tag(99, 1) + bytes(8) + tag(99, 5) + bytes(4) + block(99, b"abc")),
    ],
)
def test_what_reaches_a_limit_of_the_format_is_read(content: bytes) -> None:
    assert _core.decode_trace(content).id.tolist() == [1]


def test_columns_outlive_the_objects_they_were_taken_from() -> None:
    ids = _core.decode_trace(trace_bytes(node(3), node(4))).graph().id
    assert ids.tolist() == [3, 4]
    assert ids.readonly


def test_a_position_outside_the_trace_is_an_index_error() -> None:
    trace = _core.decode_trace(record(b""))
    for look_up in (trace.name, trace.attributes, trace.graph().name):
        with pytest.raises(IndexError):
            look_up(0)
