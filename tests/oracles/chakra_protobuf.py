"""Chakra's schema for the `protobuf` package: the oracle for our own reader and writer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Field = descriptor_pb2.FieldDescriptorProto

SCALARS = [
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
]
TYPES = {name: getattr(Field, f"TYPE_{name.upper()}") for name in SCALARS}
KIND_OF_FIELD = {
    f"{name}_{shape}": 3 + 2 * place + (shape == "list")
    for place, name in enumerate(SCALARS)
    for shape in ("val", "list")
}


class Messages(NamedTuple):
    metadata: Any
    node: Any
    attribute: Any


@cache
def messages(*, packed: bool = True, later_fields: bool = False) -> Messages:
    file = descriptor_pb2.FileDescriptorProto(
        name="oracle.proto", package="oracle", syntax="proto3"
    )
    for name in SCALARS:
        values = _field(_message(file, f"{name}_list"), "values", 1, TYPES[name], repeated=True)
        if name not in ("string", "bytes"):
            values.options.packed = packed
    attribute = _message(file, "Attribute")
    _field(attribute, "name", 1, Field.TYPE_STRING)
    _field(attribute, "doc_string", 2, Field.TYPE_STRING)
    attribute.oneof_decl.add(name="value")
    for name, number in KIND_OF_FIELD.items():
        scalar = name.removesuffix("_val")
        of_list = ".oracle." + name if name.endswith("_list") else ""
        value = _field(attribute, name, number, TYPES.get(scalar, 0), message=of_list)
        value.oneof_index = 0
    metadata = _message(file, "Metadata")
    _field(metadata, "version", 1, Field.TYPE_STRING)
    _field(metadata, "attr", 2, message=".oracle.Attribute", repeated=True)
    io = _message(file, "IO")
    for number, name in enumerate(("values", "shapes", "types"), 1):
        _field(io, name, number, Field.TYPE_STRING)
    node = _message(file, "Node")
    _field(node, "id", 1, Field.TYPE_UINT64)
    _field(node, "name", 2, Field.TYPE_STRING)
    _field(node, "type", 3, Field.TYPE_INT32)  # an open enum on the wire
    for number, name in ((4, "ctrl_deps"), (5, "data_deps")):
        _field(node, name, number, Field.TYPE_UINT64, repeated=True).options.packed = packed
    _field(node, "start_time_micros", 6, Field.TYPE_UINT64)
    _field(node, "duration_micros", 7, Field.TYPE_UINT64)
    _field(node, "inputs", 8, message=".oracle.IO")
    _field(node, "outputs", 9, message=".oracle.IO")
    _field(node, "attr", 10, message=".oracle.Attribute", repeated=True)
    if later_fields:
        for owner in (metadata, node, attribute, io):
            _field(owner, "later_number", 40, Field.TYPE_SINT64)
            _field(owner, "later_text", 41, Field.TYPE_STRING)
            _field(owner, "later_double", 42, Field.TYPE_DOUBLE)
            _field(owner, "later_float", 43, Field.TYPE_FLOAT)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return Messages(*(_class(pool, name) for name in ("Metadata", "Node", "Attribute")))


def records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            digit = data[at]
            at += 1
            size |= (digit & 0x7F) << shift
            shift += 7
            if digit < 0x80:
                break
        yield data[at : at + size]
        at += size


def frame(parts: list[bytes]) -> bytes:
    """The inverse of `records`."""
    from tests.oracles.chakra_wire import record

    return b"".join(map(record, parts))


def parse(data: bytes) -> tuple[Any, list[Any]]:
    kinds = messages()
    first, *rest = records(data)
    return kinds.metadata.FromString(first), [kinds.node.FromString(part) for part in rest]


def plain_attribute(message: Any) -> tuple[str, int, str, str]:
    """(name, kind, value, doc); the value as text: 1, 1.0 and True differ, nan equals nan."""
    field = message.WhichOneof("value")
    if field is None:
        return (message.name, 0, "None", message.doc_string)
    value = getattr(message, field)
    shown = repr(list(value.values) if field.endswith("_list") else value)
    return (message.name, KIND_OF_FIELD[field], shown, message.doc_string)


def plain_node(message: Any) -> dict[str, Any]:
    return {
        "id": message.id,
        "name": message.name,
        "type": message.type,
        "data_deps": list(message.data_deps),
        "ctrl_deps": list(message.ctrl_deps),
        "start_micros": message.start_time_micros,
        "duration_micros": message.duration_micros,
        "inputs": _plain_io(message, "inputs"),
        "outputs": _plain_io(message, "outputs"),
        "attributes": [plain_attribute(item) for item in message.attr],
    }


def _plain_io(message: Any, side: str) -> tuple[str, str, str] | None:
    if not message.HasField(side):
        return None
    io = getattr(message, side)
    return (io.values, io.shapes, io.types)


def _message(file: Any, name: str) -> Any:
    return file.message_type.add(name=name)


def _field(
    owner: Any, name: str, number: int, type_: int = 0, *, message: str = "", repeated: bool = False
) -> Any:
    field = owner.field.add(name=name, number=number)
    field.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
    field.type = Field.TYPE_MESSAGE if message else type_
    if message:
        field.type_name = message
    return field


def _class(pool: Any, name: str) -> Any:
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"oracle.{name}"))
