"""The encoding agrees with the package protobuf, and bad bytes are only ever refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.service.messages import MESSAGES, decode, encode
from yantra.service.wire import Field, WireError

_TYPE = descriptor_pb2.FieldDescriptorProto


def _pool() -> descriptor_pool.DescriptorPool:
    """Return our messages as protobuf knows them."""
    file = descriptor_pb2.FileDescriptorProto(name="ours.proto", package="ours", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields.values():
            added = message.field.add(
                name=field.name,
                number=field.number,
                label=_TYPE.LABEL_REPEATED if field.repeated else _TYPE.LABEL_OPTIONAL,
            )
            if field.kind in MESSAGES:
                added.type, added.type_name = _TYPE.TYPE_MESSAGE, f".ours.{field.kind}"
            elif field.kind == "enum":
                enum = message.enum_type.add(name=f"Of_{field.name}")
                enum.value.add(name=f"{field.name}_unspecified", number=0)
                for number, text in field.names:
                    enum.value.add(name=f"{field.name}_{text}", number=number)
                added.type, added.type_name = _TYPE.TYPE_ENUM, f".ours.{name}.Of_{field.name}"
            else:
                added.type = _TYPE.Type.Value(f"TYPE_{field.kind.upper()}")
            if not field.repeated and field.kind not in MESSAGES:
                added.proto3_optional = True
                added.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{field.name}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


POOL = _pool()


def _theirs(name: str) -> Any:
    return message_factory.GetMessageClass(POOL.FindMessageTypeByName(f"ours.{name}"))()


def _floats() -> st.SearchStrategy[float]:
    return st.floats(width=32, allow_nan=False, allow_infinity=False)


_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "bool": st.booleans(),
    "double": st.floats(allow_nan=False),
    "float": _floats(),
    "string": st.text(max_size=10),
    "bytes": st.binary(max_size=10),
}


def _values(name: str, depth: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    def one(field: Field) -> st.SearchStrategy[Any]:
        if field.kind in MESSAGES:
            return _values(field.kind, depth - 1)
        if field.kind == "enum":
            return st.sampled_from([text for _, text in field.names])
        return _SCALARS[field.kind]

    fields = {}
    for field in MESSAGES[name].values():
        if depth == 0 and field.kind in MESSAGES:
            continue
        if field.repeated:
            fields[field.name] = st.lists(one(field), min_size=1, max_size=2)
        else:
            fields[field.name] = one(field)
    return st.fixed_dictionaries({}, optional=fields)


def _fill(message: Any, name: str, values: dict[str, Any]) -> None:
    by_name = {field.name: field for field in MESSAGES[name].values()}
    for key, value in values.items():
        field = by_name[key]
        if field.kind in MESSAGES:
            if field.repeated:
                for row in value:
                    _fill(getattr(message, key).add(), field.kind, row)
            else:
                getattr(message, key).SetInParent()
                _fill(getattr(message, key), field.kind, value)
            continue
        if field.kind == "enum":
            number = {text: number for number, text in field.names}
            setattr(message, key, number[value])
        elif field.repeated:
            getattr(message, key).extend(value)
        else:
            setattr(message, key, value)


NAMES = sorted(MESSAGES)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_what_protobuf_writes_is_read_as_the_same_fields(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    values = data.draw(_values(name))
    theirs = _theirs(name)
    _fill(theirs, name, values)
    read = decode(theirs.SerializeToString(), name)
    ours = _theirs(name)
    _fill(ours, name, read)
    assert ours == theirs
    again = _theirs(name)
    again.ParseFromString(encode(name, values))
    assert again == theirs


@pytest.mark.parametrize("value", [0.005, 100.0, 0.1, 16777216.0, 3.4028235e38])
def test_a_32_bit_float_is_the_shortest_decimal_that_means_it(value: float) -> None:
    data = b"\x1d" + struct.pack("<f", value)  # field 3 of a dimension: its bandwidth
    assert decode(data, "Dimension") == {"bandwidth": value}


@given(st.binary(max_size=60), st.sampled_from(NAMES))
@settings(max_examples=500, deadline=None)
def test_any_bytes_are_a_message_or_an_error_that_names_it(data: bytes, name: str) -> None:
    try:
        decode(data, name)
    except WireError as error:
        assert str(error).startswith(name)


def test_a_field_that_nobody_knows_is_skipped() -> None:
    known = encode("Instance", {"name": "host", "count": 2})
    unknown = b"\xfa\x3f\x02ab\xf8\x3f\x05\xf5\x3f\x00\x00\x00\x00"
    assert decode(unknown + known + unknown, "Instance") == {"name": "host", "count": 2}


def test_a_message_sent_twice_is_merged() -> None:
    first = encode("Config", {"common_config": {"workload": "a", "system": {"peak_perf": 1.0}}})
    second = encode("Config", {"common_config": {"workload": "b"}})
    merged = {"common_config": {"workload": "b", "system": {"peak_perf": 1.0}}}
    assert decode(first + second, "Config") == merged
