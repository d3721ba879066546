"""Chakra files spelled out byte by byte, so that no writer can hide a reader's error."""

from __future__ import annotations


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def tag(field: int, wire_type: int) -> bytes:
    return varint(field << 3 | wire_type)


def number(field: int, value: int) -> bytes:
    return tag(field, 0) + varint(value)


def block(field: int, payload: bytes) -> bytes:
    return tag(field, 2) + varint(len(payload)) + payload


def record(message: bytes) -> bytes:
    return varint(len(message)) + message


def trace_bytes(*nodes: bytes, metadata: bytes = b"") -> bytes:
    return b"".join(map(record, (metadata, *nodes)))


def node(id_: int, name: str = "", *fields: bytes) -> bytes:
    text = block(2, name.encode()) if name else b""
    return number(1, id_) + text + b"".join(fields)


def node_type(value: int) -> bytes:
    return number(3, value)


def ctrl_deps(*ids: int) -> bytes:
    return block(4, b"".join(map(varint, ids)))


def data_deps(*ids: int) -> bytes:
    return block(5, b"".join(map(varint, ids)))


def attribute(name: str, *value: bytes) -> bytes:
    return block(10, block(1, name.encode()) + b"".join(value))


def int64(value: int) -> bytes:
    return number(9, value % 2**64)
