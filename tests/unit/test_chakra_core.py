"""The native trace reader on traces spelled out byte by byte: no writer can hide its errors."""

from __future__ import annotations

import pytest

from yantra import _core


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def block(field: int, payload: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(payload)) + payload


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def node(id_: int, name: str, *fields: bytes) -> bytes:
    return number(1, id_) + block(2, name.encode()) + b"".join(fields)


def trace_bytes(*nodes: bytes, metadata: bytes = b"") -> bytes:
    return b"".join(varint(len(record)) + record for record in (metadata, *nodes))


def data_deps(*ids: int) -> bytes:
    return block(5, b"".join(map(varint, ids)))


def ctrl_deps(*ids: int) -> bytes:
    return block(4, b"".join(map(varint, ids)))


COMM_SIZE = block(10, block(1, b"comm_size") + number(9, 1 << 20))


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
    kinds, values = graph.comm_size
    assert kinds.tolist() == [1, 0]
    assert values.tolist() == [1 << 20, 0]
    assert [column.tolist() for column in graph.num_ops] == [[], []]


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
