"""Level 1: names to classes; drops schemas, paths, tensor and process ids, host, time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from yantra.chakra.schema import Attribute, IOInfo, Node, NodeType
from yantra.tracing.inspect.groups import Declared, process_groups
from yantra.tracing.obfuscate.classes import class_of

READ_BY_SIMULATORS = frozenset(
    {
        "is_cpu_op",
        "duration_ns",
        "num_ops",
        "tensor_size",
        "tensor_loc",
        "comm_type",
        "comm_size",
        "comm_src",
        "comm_dst",
        "comm_tag",
        "comm_priority",
        "pg_name",
        "involved_dim",
    }
)
LANES = frozenset({"stream", "tid", "thread"})
_FURTHER = frozenset(
    {
        "fw_tid",
        "rf_id",
        "fw_parent",
        "seq_id",
        "scope",
        "device",
        "start_time_ns",
        "msg_chunk_cnt",
        "msg_chunk_idx",
        "total_chunk_cnt",
        "local_time_step",
        "chunk_offset",
        "hasdep",
        "depid",
        "tb_id",
        "is_rrc",
    }
)
_KEPT = READ_BY_SIMULATORS | LANES | _FURTHER
_TENSOR_LISTS = ("inputs", "outputs")
_PARTS = ("delay", "slice", "wait")
_SHAPES = re.compile(r"[\[\]()0-9, -]*")
_TYPES = """Tensor GenericList Tuple Int Bool Double Float String None Device Object Generator
Scalar Stream Dict Enum Number float double int long short char bool unsigned signed void c10 Half
BFloat16 complex nullptr"""
_TYPE_WORDS = frozenset(_TYPES.split())
_BETWEEN_TYPES = re.compile(r"[\[\]()<>:,'\" ]+")

RenameGroup = Callable[[str], str]


def strip(nodes: list[Node], rename: RenameGroup, shift: tuple[int, int]) -> None:
    """Strip in place; `shift`: the job's first start in us and ns."""
    tensors: dict[str, str] = {}
    for node in nodes:
        listed = process_groups_of(node)
        node.name = _class(node)
        node.foreign = b""  # unknown content
        node.attributes = [
            kept
            for attribute in node.attributes
            if (kept := _attribute(attribute, rename, tensors)) is not None
        ]
        node.start_micros = max(node.start_micros - shift[0], 0)
        start = node.attribute("start_time_ns")
        if start is not None and isinstance(start.value, int):
            node.set("start_time_ns", start.value - shift[1], start.kind)
        node.inputs = _without_ids(node.inputs)
        node.outputs = _without_ids(node.outputs)
        if listed:
            node.inputs = _listed(listed, rename)


def _class(node: Node) -> str:
    comm_type = node.get("comm_type")
    number = comm_type if isinstance(comm_type, int) else None
    return class_of(
        node.name, node.type, number, bool(node.get("is_cpu_op")), node.get("part") == "delay"
    )


def _attribute(
    attribute: Attribute, rename: RenameGroup, tensors: dict[str, str]
) -> Attribute | None:
    name, value = attribute.name, attribute.value
    if name == "pg_name" and isinstance(value, str):
        return Attribute(name, rename(value), attribute.kind)
    if name == "part" and value in _PARTS:
        return Attribute(name, value, attribute.kind)
    if name in _TENSOR_LISTS and isinstance(value, tuple):
        texts = [_tensor(str(text), at, tensors) for at, text in enumerate(value)]
        return Attribute(name, texts, attribute.kind)
    values = value if isinstance(value, tuple) else (value,)
    if name in _KEPT and all(isinstance(one, (bool, int, float)) for one in values):
        return attribute if not attribute.doc else Attribute(name, value, attribute.kind)
    return None


def _tensor(text: str, at: int, tensors: dict[str, str]) -> str:
    # Entries alternate: tensor name (numbered by first appearance), bytes.
    if at % 2:
        return text if text.isascii() and text.isdigit() else "0"
    return tensors.setdefault(text, f"t{len(tensors)}")


def _without_ids(info: IOInfo | None) -> IOInfo | None:
    if info is None:
        return None
    shapes = info.shapes if _SHAPES.fullmatch(info.shapes) else ""
    words = set(_BETWEEN_TYPES.split(info.types)) - {""}
    types = info.types if words <= _TYPE_WORDS else ""
    return IOInfo("", shapes, types) if shapes or types else None


def process_groups_of(node: Node) -> list[Declared]:
    if node.type != NodeType.METADATA or node.inputs is None or "process_group" not in node.name:
        return []
    return process_groups(node.inputs.values)


def _listed(groups: list[Declared], rename: RenameGroup) -> IOInfo:
    entries = [{"pg_name": rename(group.name), "ranks": list(group.ranks)} for group in groups]
    return IOInfo(repr([json.dumps(entries)]), "[[]]", "['String']")
