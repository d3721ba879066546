"""The layouts before 0.0.4, written by protobuf itself; `meaning` gives what reading a node must
give.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.oracles.chakra_wire import record

Field = descriptor_pb2.FieldDescriptorProto
U64, U32, ENUM, BOOL, TEXT = (
    Field.TYPE_UINT64,
    Field.TYPE_UINT32,
    Field.TYPE_ENUM,
    Field.TYPE_BOOL,
    Field.TYPE_STRING,
)

PROPERTIES = {  # 0.0.1, from field 5 on
    "tensor_loc": "MemoryType",
    "tensor_size": U64,
    "simulated_run_time": U64,
    "input_tensor_loc": "MemoryType",
    "input_tensor_size": U64,
    "output_tensor_loc": "MemoryType",
    "output_tensor_size": U64,
    "num_ops": U64,
    "comm_type": "CollectiveCommType",
    "involved_dim": BOOL,
    "communicator_id": U32,
    "comm_src": U32,
    "comm_dst": U32,
    "comm_size": U64,  # uint32 at first; the bytes are the same
    "comm_tag": U32,
    "comm_priority": U32,
}
IO = ("inputs", "input_shapes", "input_types", "outputs", "output_shapes", "output_types")
MEMBERS = {
    "0.0.2": ["f", "i", "s", "floats", "ints", "strings"],
    "0.0.3a": ["b", "f", "i", "s", "bools", "floats", "ints", "strings"],
    "0.0.3": ["b", "f", "u", "i", "s", "bools", "floats", "uints", "ints", "strings"],
}
NODE_TYPES = {"0.0.1": 7, "0.0.2": 7, "0.0.3a": 8, "0.0.3": 8}
COLLECTIVES = {  # today's numbers by the old ones
    "0.0.1": {1: 0, 2: 6, 3: 2, 4: 7},
    "0.0.2": {0: 0, 1: 6, 2: 2, 3: 7},
    "0.0.3a": {0: 0, 1: 6, 2: 2, 3: 7, 4: 5},
    "0.0.3": {0: 0, 1: 6, 2: 2, 3: 7, 4: 5},
}
_WIRE = {
    "b": BOOL,
    "f": Field.TYPE_FLOAT,
    "i": Field.TYPE_INT64,
    "u": U64,
    "s": TEXT,
}


def write(
    layout: str, nodes: list[dict[str, Any]], metadata: list[dict[str, Any]] | None = None
) -> bytes:
    kinds = _messages(layout)
    parts = [] if metadata is None else [kinds["Metadata"](attribute=metadata)]
    parts += [kinds["Node"](**node) for node in nodes]
    return b"".join(record(part.SerializeToString()) for part in parts)


@cache
def _messages(layout: str) -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name=f"old{layout}.proto", package="old")
    for name, count in (("NodeType", NODE_TYPES[layout]), ("MemoryType", 3)):
        _enum(file, name, range(count))
    _enum(file, "CollectiveCommType", range(5))
    node = file.message_type.add(name="Node")
    _field(node, "id", 1, U64, "required")
    _field(node, "name", 2, TEXT, "required")
    first = layout == "0.0.1"
    rule = "optional" if first else "required"
    _field(node, "node_type" if first else "type", 3, "NodeType", rule)
    _field(node, "parent", 4, U64, "repeated")
    if first:
        for number, (name, kind) in enumerate(PROPERTIES.items(), start=5):
            _field(node, name, number, kind, "repeated" if kind == BOOL else "optional")
    else:
        for number, name in enumerate(IO, start=5):
            _field(node, name, number, TEXT, "optional")
        _field(node, "attribute", 11, ".old.Attribute", "repeated")
        _attribute(file, layout)
        metadata = file.message_type.add(name="Metadata")
        _field(metadata, "attribute", 1, ".old.Attribute", "repeated")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"old.{message.name}")
        )
        for message in file.message_type
    }


def _attribute(file: Any, layout: str) -> None:
    members = MEMBERS[layout]
    _enum(file, "AttributeType", range(len(members)), prefix="T")
    attribute = file.message_type.add(name="Attribute")
    _field(attribute, "name", 1, TEXT, "required")
    _field(attribute, "type", 2, "AttributeType", "required")
    _field(attribute, "doc_string", 3, TEXT, "optional")
    for number, member in enumerate(members, start=4):
        is_list = len(member) > 1
        kind = Field.TYPE_BYTES if member == "strings" else _WIRE[member[0]]
        _field(attribute, member, number, kind, "repeated" if is_list else "optional")


def _enum(file: Any, name: str, numbers: Any, prefix: str = "") -> None:
    enum = file.enum_type.add(name=name)
    for number in numbers:
        enum.value.add(name=f"{prefix or name}{number}", number=number)


def _field(owner: Any, name: str, number: int, kind: Any, rule: str) -> None:
    field = owner.field.add(name=name, number=number)
    field.label = getattr(Field, f"LABEL_{rule.upper()}")
    if isinstance(kind, str):
        is_message = kind.startswith(".")
        field.type = Field.TYPE_MESSAGE if is_message else ENUM
        field.type_name = kind if is_message else f".old.{kind}"
    else:
        field.type = kind


def meaning(layout: str, node: dict[str, Any]) -> dict[str, Any]:
    """Return what the node says in today's terms; attributes as (name, kind, value, doc)."""
    old_type = node.get("node_type" if layout == "0.0.1" else "type", 0)
    shifted = layout in ("0.0.1", "0.0.2") and old_type > 0
    said = {
        "id": node["id"],
        "name": node["name"],
        "type": old_type + shifted,
        "data_deps": list(node.get("parent", [])),
        "duration_micros": 0,
        "inputs": None,
        "outputs": None,
    }
    if layout == "0.0.1":
        said["duration_micros"] = node.get("simulated_run_time", 0)
        said["attributes"] = _of_properties(node)
        return said
    for side in ("input", "output"):
        names = (f"{side}s", f"{side}_shapes", f"{side}_types")
        if any(name in node for name in names):
            said[f"{side}s"] = tuple(node.get(name, "") for name in names)
    said["attributes"] = []
    timed = False
    for item in node.get("attribute", []):
        name, kind, value, doc = plain(layout, item)
        if name == "runtime" and kind in ("INT64", "UINT64") and value >= 0 and not timed:
            said["duration_micros"], timed = value, True
            continue
        if name == "comm_type" and kind in ("INT64", "UINT64") and said["type"] == 7:
            value = COLLECTIVES[layout][value]
        if kind in ("BOOL_LIST", "INT64_LIST", "UINT64_LIST") and name == "involved_dim":
            if all(flag in (0, 1) for flag in value):
                kind, value = "BOOL_LIST", [bool(flag) for flag in value]
        elif kind in ("INT64", "UINT64", "BOOL"):
            kind, value = _as_read_today(name, value, kind)
        said["attributes"].append((name, kind, value, doc))
    return said


def plain(layout: str, item: dict[str, Any]) -> tuple[str, str, Any, str]:
    """An attribute as (name, kind, value, doc), its name and kind as they were."""
    kinds = {"b": "BOOL", "f": "FLOAT", "i": "INT64", "u": "UINT64", "s": "STRING"}
    told = MEMBERS[layout][item["type"]]
    member = next((key for key in item if key in MEMBERS[layout]), None)
    if member is None:
        value: Any = [] if len(told) > 1 else None
        member = told
        kind = kinds[told[0]] + "_LIST" if len(told) > 1 else "NONE"
    else:
        value = item[member]
        kind = kinds[member[0]] + ("_LIST" if len(member) > 1 else "")
    if kind == "STRING_LIST":
        try:
            value = [piece.decode() for piece in value]
        except UnicodeDecodeError:
            kind = "BYTES_LIST"
    return item["name"], kind, value, item.get("doc_string", "")


_READ_TODAY = {
    "is_cpu_op": ("BOOL", 0, 1),
    "comm_type": ("INT64", -(2**63), 2**63 - 1),
    "comm_size": ("INT64", -(2**63), 2**63 - 1),
    "num_ops": ("INT64", -(2**63), 2**63 - 1),
    "tensor_size": ("UINT64", 0, 2**64 - 1),
    "tensor_loc": ("UINT32", 0, 2**32 - 1),
    **dict.fromkeys(
        ("comm_src", "comm_dst", "comm_tag", "comm_priority"), ("INT32", -(2**31), 2**31 - 1)
    ),
}


def _as_read_today(name: str, value: Any, kind: str) -> tuple[str, Any]:
    known, low, high = _READ_TODAY.get(name, (kind, 0, -1))
    if low <= value <= high:
        return known, bool(value) if known == "BOOL" else int(value)
    return kind, value


def _of_properties(node: dict[str, Any]) -> list[tuple[str, str, Any, str]]:
    kinds = {"MemoryType": "UINT32", U32: "UINT32", U64: "UINT64"}
    said: list[tuple[str, str, Any, str]] = []
    for name, wire in PROPERTIES.items():
        value = node.get(name)
        if value is None or value == [] or name == "simulated_run_time":
            continue
        if name == "comm_type":
            if value:
                said.append((name, "INT64", COLLECTIVES["0.0.1"][value], ""))
        elif name == "involved_dim":
            said.append((name, "BOOL_LIST", value, ""))
        elif name == "communicator_id":
            said.append(("pg_name", "STRING", str(value), ""))
        else:
            said.append((name, *_as_read_today(name, value, kinds[wire]), ""))
    return said
