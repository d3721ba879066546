"""A tiny writer of Chakra traces; it shares no code, and so no mistake, with the product's own.

A node is one line of text; a trace is a list of them:

    3<1,2~0 all_reduce 1048576 group=1 dims=101 priority=2
    4 compute us=5            5 compute cpu us=3         6 compute ops=1000 bytes=4000
    7<4 send 1 4096 tag=3     8 recv 0 4096 tag=3        9 load 65536     10 invalid

The number is the id, `<` data and `~` control dependencies. The field numbers are those of the
Chakra schema (et_def.proto, v0.0.4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_INVALID, _METADATA, _LOAD, _STORE, _COMP, _SEND, _RECV, _COLL = range(8)
_COLLECTIVES = {
    "all_reduce": 0,
    "all_gather": 2,
    "broadcast": 5,
    "all_to_all": 6,
    "reduce_scatter": 7,
}
_TYPES = {
    "invalid": _INVALID,
    "metadata": _METADATA,
    "load": _LOAD,
    "store": _STORE,
    "compute": _COMP,
    "send": _SEND,
    "recv": _RECV,
    **dict.fromkeys(_COLLECTIVES, _COLL),
}
_HEAD = re.compile(r"(\d+)(?:<([\d,]+))?(?:~([\d,]+))?")
_INTEGER_FIELDS = {"int32": 7, "int64": 9, "uint32": 11, "uint64": 13, "sint64": 17}
_BOOL, _BOOL_LIST, _STRING = 27, 28, 29


def encode(lines: Iterable[str], integers: str = "int64") -> bytes:
    """Return the bytes of a trace file; `integers` is the wire type of integer attributes."""
    records = [b"", *(_node(line, _INTEGER_FIELDS[integers]) for line in lines)]
    return b"".join(_varint(len(record)) + record for record in records)


def _node(line: str, integer_field: int) -> bytes:
    head, word, *rest = line.split()
    match = _HEAD.fullmatch(head)
    if match is None or word not in _TYPES:
        raise ValueError(f"not a node: {line}")
    positional = [item for item in rest if "=" not in item]
    options = dict(item.split("=") for item in rest if "=" in item)
    attributes = [
        _attribute(name, value, integer_field)
        for name, value in _attributes(word, positional, options).items()
    ]
    record = _number(1, int(match[1])) + _block(2, word.encode()) + _number(3, _TYPES[word])
    for field, ids in ((4, match[3]), (5, match[2])):
        if ids:
            record += _block(field, b"".join(_varint(int(i)) for i in ids.split(",")))
    if "us" in options:
        record += _number(7, int(options["us"]))
    return record + b"".join(_block(10, attribute) for attribute in attributes)


Value = int | bool | str | tuple[bool, ...]


def _attributes(word: str, positional: list[str], options: dict[str, str]) -> dict[str, Value]:
    made: dict[str, Value] = {"is_cpu_op": True} if "cpu" in positional else {}
    numbers = [int(item) for item in positional if item != "cpu"]
    if word in _COLLECTIVES:
        made |= {"comm_type": _COLLECTIVES[word], "comm_size": numbers[0]}
        if "group" in options:
            made["pg_name"] = options["group"]
        if "dims" in options:
            made["involved_dim"] = tuple(digit == "1" for digit in options["dims"])
        if "priority" in options:
            made["comm_priority"] = int(options["priority"])
    elif word in ("send", "recv"):
        peer = "comm_dst" if word == "send" else "comm_src"
        made |= {peer: numbers[0], "comm_size": numbers[1], "comm_tag": int(options["tag"])}
    elif word in ("load", "store"):
        made["tensor_size"] = numbers[0]
    elif "ops" in options:
        made |= {"num_ops": int(options["ops"]), "tensor_size": int(options["bytes"])}
    return made


def _attribute(name: str, value: Value, integer_field: int) -> bytes:
    text = _block(1, name.encode())
    if isinstance(value, bool):
        return text + _number(_BOOL, value)
    if isinstance(value, int):
        return text + _number(integer_field, 2 * value if integer_field == 17 else value)
    if isinstance(value, str):
        return text + _block(_STRING, value.encode())
    return text + _block(_BOOL_LIST, _block(1, bytes(value)))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _block(field: int, payload: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)
