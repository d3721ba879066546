"""Chakra's messages as classes of the package `protobuf`: what scripts import from `et_def_pb2`.

No generated code: the classes are made when this module is imported, from Yantra's description of
the schema (`yantra.chakra.schema`) and the tables below. They live in a pool of their own, so that
other copies of the schema in the same program do no harm.

Source: MLCommons Chakra, layout 0.0.4, protobuf package ChakraProtoMsg.
"""

from typing import Any

from yantra.chakra.schema import CollectiveType, Kind
from yantra.chakra.schema import NodeType as _NodeType
from yantra.cli.chakra_package import stay_behind_upstream

try:
    from google.protobuf import descriptor_pb2, descriptor_pool
    from google.protobuf.internal import enum_type_wrapper
    from google.protobuf.message_factory import GetMessageClass
except ImportError as error:
    text = f"Chakra's messages need the package protobuf: pip install 'protobuf>=4.22' ({error})"
    raise ImportError(text) from None

stay_behind_upstream(__name__)

_PACKAGE = "ChakraProtoMsg"
_Field = descriptor_pb2.FieldDescriptorProto
_ENUMS = {
    "NodeType": {f"{item.name}_NODE": item.value for item in _NodeType},
    "CollectiveCommType": {item.name: item.value for item in CollectiveType},
}
_KINDS = [kind for kind in Kind if kind is not Kind.NONE]
# Fields by number from 1 on; [] means repeated, a capital letter a message or an enum.
_MESSAGES = {
    **{
        kind.name.replace("_", " ").title().replace(" ", ""): [
            ("values", f"{kind.element.name.lower()}[]")
        ]
        for kind in _KINDS
        if kind.is_list
    },
    "AttributeProto": [("name", "string"), ("doc_string", "string")],
    "GlobalMetadata": [("version", "string"), ("attr", "AttributeProto[]")],
    "IOInfo": [("values", "string"), ("shapes", "string"), ("types", "string")],
    "Tensor": [
        ("tensor_id", "uint64"),
        ("storage_id", "uint64"),
        ("offset", "uint64"),
        ("num_elem", "uint64"),
        ("elem_bytes", "uint64"),
        ("device", "string"),
    ],
    "Node": [
        ("id", "uint64"),
        ("name", "string"),
        ("type", "NodeType"),
        ("ctrl_deps", "uint64[]"),
        ("data_deps", "uint64[]"),
        ("start_time_micros", "uint64"),
        ("duration_micros", "uint64"),
        ("inputs", "IOInfo"),
        ("outputs", "IOInfo"),
        ("attr", "AttributeProto[]"),
    ],
}
_GONE = {"AttributeType"} | {
    name + ending for name in ("BOOL", "FLOAT", "INT", "UINT", "STRING") for ending in ("", "S")
}


def _file() -> Any:
    """Describe the schema as protobuf wants it."""
    file = descriptor_pb2.FileDescriptorProto(
        name="et_def.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, what) in enumerate(fields, start=1):
            _add(message, field, number, what)
        if name == "AttributeProto":
            message.oneof_decl.add(name="value")
            for kind in _KINDS:
                _add_value(message, kind)
    return file


def _add(message: Any, name: str, number: int, what: str) -> Any:
    field = message.field.add(name=name, number=number)
    field.label = _Field.LABEL_REPEATED if what.endswith("[]") else _Field.LABEL_OPTIONAL
    kind = what.removesuffix("[]")
    if kind[0].isupper():
        field.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(_Field, f"TYPE_{kind.upper()}")
    return field


def _add_value(attribute: Any, kind: Kind) -> None:
    """Add one of the alternatives of an attribute: `int64_val`, or `int64_list`."""
    element = kind.element.name.lower()
    if kind.is_list:
        field = _add(attribute, f"{element}_list", int(kind), f"{element.title()}List")
    else:
        field = _add(attribute, f"{element}_val", int(kind), element)
    field.oneof_index = 0


def _publish(pool: Any, names: dict[str, Any]) -> None:
    """Give this module the names that a generated one has."""
    for name in _MESSAGES:
        names[name] = GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
        names[name].__module__ = __name__
    for name, values in _ENUMS.items():
        described = pool.FindEnumTypeByName(f"{_PACKAGE}.{name}")
        names[name] = enum_type_wrapper.EnumTypeWrapper(described)
        names.update(values)


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())
DESCRIPTOR = _pool.FindFileByName("et_def.proto")
_publish(_pool, globals())
__all__ = ["DESCRIPTOR", *_MESSAGES, *_ENUMS, *(name for enum in _ENUMS.values() for name in enum)]


def __getattr__(name: str) -> Any:
    """Say what became of the names of layouts 0.0.2 and 0.0.3."""
    if name in _GONE:
        text = f"{name} is of a layout of mid-2023; now a value's field names its type: int64_val=1"
        raise ImportError(text)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
