"""Host traces of PyTorch's ExecutionTraceObserver, schemas 1.0.1 to 1.1.1. Tensors stay raw JSON.

Source: files of PyTorch 1.13 to 2.13.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct, field

from yantra import _core
from yantra.base.errors import ConfigError, TraceError, expected_got, show
from yantra.base.notes import note
from yantra.base.unpacking import open_unpacked
from yantra.chakra import files
from yantra.chakra.versions import is_newer
from yantra.tracing.pytorch import json_input
from yantra.tracing.pytorch.event_columns import distinct, flags
from yantra.tracing.pytorch.host_columns import Nodes, said_again
from yantra.tracing.pytorch.host_nodes import HostNode
from yantra.tracing.pytorch.json_list import REFUSED, InCore, read_list, texts_of
from yantra.tracing.pytorch.linked import Attr, ProcessGroup
from yantra.tracing.pytorch.node_file import NODES

WHAT = "PyTorch host execution trace"
FLAT = "1.0.1"
GROUP_INIT = "process_group:init"
NESTED = ("1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1")
_FLAT_ATTRS = (
    ("rf_id", "uint64"),
    ("fw_parent", "uint64"),
    ("seq_id", "int64"),
    ("scope", "uint64"),
    ("tid", "uint64"),
    ("fw_tid", "uint64"),
    ("op_schema", "string"),
)
_NOTHING = Raw(b"[]")
_MOST_RANKS = 1 << 22


class HostTrace(Struct):
    """`nodes` by id, in columns; `missing_parents` counts parents not in the file."""

    schema: str
    pid: int
    time: str
    start_ts: int
    finish_ts: int
    nodes: Nodes
    groups: list[ProcessGroup] = field(default_factory=list)
    missing_parents: int = 0


class _Node(Struct, gc=False):
    id: int
    name: str
    ctrl_deps: int | list[int] | None = None
    attrs: list[Attr] | None = None
    inputs: Raw = _NOTHING
    outputs: Raw = _NOTHING


class _FlatNode(Struct, gc=False):
    id: int
    name: str
    parent: int
    rf_id: int = 0
    fw_parent: int = 0
    seq_id: int = -1
    scope: int = 0
    tid: int = 0
    fw_tid: int = 0
    op_schema: str = ""
    inputs: Raw = _NOTHING
    input_shapes: Raw = _NOTHING
    input_types: Raw = _NOTHING
    outputs: Raw = _NOTHING
    output_shapes: Raw = _NOTHING
    output_types: Raw = _NOTHING


class _Head(Struct):
    schema: str | None = None
    pid: int = 0
    time: str = ""
    start_ts: int = 0
    finish_ts: int | None = None


class _File(_Head):
    nodes: list[_Node] | None = None


class _FlatFile(_Head):
    nodes: list[_FlatNode] | None = None


def read(path: str) -> HostTrace:
    """Read a host trace, plain or gzip, in blocks if it is as usual.

    Raises TraceError for other, cut off or contradictory files.
    """
    return _in_blocks(path) or parse(files.load(path), path)


def parse(data: bytes, where: str) -> HostTrace:
    head = _file(data, where)
    if isinstance(head, _FlatFile):
        nodes = [_from_flat(node) for node in _nodes(head.nodes, where)]
    else:
        nodes = [_from_nested(node, where) for node in _nodes(head.nodes, where)]
    nodes.sort(key=attrgetter("id"))
    return _trace(head, Nodes.of(nodes, where), where)


def _in_blocks(path: str) -> HostTrace | None:
    file = _core.HostFile()
    try:
        with open_unpacked(path) as text:
            header = read_list(text, NODES, InCore(file), lambda _: None)
        head = msgspec.convert(header, _Head)
        nodes = _columns(file)
    except (*REFUSED, OSError, ConfigError):
        return None
    version = (head.schema or "").partition("-")[0]
    if version not in NESTED or head.finish_ts is None:
        return None
    return _trace(head, nodes, path)


def _columns(file: _core.HostFile) -> Nodes:
    file.finish()
    columns: dict[str, Any] = file.columns()
    names, columns["name"] = distinct(texts_of(file.names()), columns["name"])
    layouts = [said_again(layout) for layout in file.layouts()]
    layouts, columns["layout"] = distinct(layouts, columns["layout"])
    return Nodes(columns, names, layouts, file.tensors())


def _trace(head: _Head, nodes: Nodes, where: str) -> HostTrace:
    _check_ids(nodes, where)
    return HostTrace(
        schema=head.schema or "",
        pid=head.pid,
        time=head.time,
        start_ts=head.start_ts,
        finish_ts=head.finish_ts or 0,
        nodes=nodes,
        groups=_groups(nodes, where),
        missing_parents=int(np.count_nonzero(~np.isin(nodes.parent, nodes.id))),
    )


def _file(data: bytes, where: str) -> _File | _FlatFile:
    try:
        file = json_input.decode(data, _File, where, WHAT)
        version = _version(file, where)
    except TraceError:
        version = _version(json_input.decode(data, _Head, where, WHAT), where)
        if version != FLAT:
            raise
    return json_input.decode(data, _FlatFile, where, WHAT) if version == FLAT else file


def _version(head: _Head, where: str) -> str:
    if head.schema is None:
        raise TraceError(f"{where}: has no field 'schema'; expected a {WHAT}")
    version = head.schema.partition("-")[0]
    if is_newer(version, NESTED[-1]):
        note(
            f"{where}: states schema {show(head.schema)}, newer than {NESTED[-1]}, the last one "
            "known; it is read as that"
        )
        version = NESTED[-1]
    if version != FLAT and version not in NESTED:
        known = f"a schema from {FLAT} to {NESTED[-1]}"
        raise TraceError(f"{where} at $.schema: {expected_got(known, head.schema)}")
    if head.finish_ts is None:
        raise TraceError(
            f"{where}: has no field 'finish_ts': the observer was never stopped and the trace is "
            "cut off; call unregister_callback() on the observer before the program ends"
        )
    return version


def _nodes(nodes: list[Any] | None, where: str) -> list[Any]:
    if nodes is None:
        raise TraceError(f"{where}: has no field 'nodes'; expected a {WHAT}")
    return nodes


def _check_ids(nodes: Nodes, where: str) -> None:
    twice = nodes.id[1:][nodes.id[1:] == nodes.id[:-1]]
    if len(twice):
        raise TraceError(f"{where}: two nodes have the id {twice[0]}; expected each id once")


def _from_nested(node: _Node, where: str) -> HostNode:
    if node.attrs is None:
        raise TraceError(f"{where}: node {node.id} has no field 'attrs'; expected a {WHAT}")
    parent = node.ctrl_deps
    if isinstance(parent, list):
        parent = parent[0] if parent else None
    made = HostNode(
        id=node.id,
        name=node.name,
        parent=node.id if parent is None else parent,
        attrs=node.attrs,
        inputs=node.inputs,
        outputs=node.outputs,
    )
    for attr in node.attrs:
        name = attr.name
        if name in _NUMBERS:
            if type(attr.value) is not int:
                problem = expected_got("a whole number", attr.value)
                raise TraceError(f"{where}: node {node.id}, attribute {name}: {problem}")
            setattr(made, name, attr.value)
    return made


_NUMBERS = frozenset({"rf_id", "tid", "fw_tid", "seq_id", "scope"})


def _from_flat(node: _FlatNode) -> HostNode:
    return HostNode(
        id=node.id,
        name=node.name,
        parent=node.parent,
        attrs=[Attr(name, kind, getattr(node, name)) for name, kind in _FLAT_ATTRS],
        inputs=_io(node.inputs, node.input_shapes, node.input_types),
        outputs=_io(node.outputs, node.output_shapes, node.output_types),
        rf_id=node.rf_id,
        tid=node.tid,
        fw_tid=node.fw_tid,
        seq_id=node.seq_id,
        scope=node.scope,
    )


def _io(values: Raw, shapes: Raw, types: Raw) -> Raw:
    return Raw(
        b'{"values":' + bytes(values) + b',"shapes":' + bytes(shapes)
        + b',"types":' + bytes(types) + b"}"
    )  # fmt: skip


class _InitInputs(Struct):
    values: list[Any]


class _Group(Struct):
    pg_name: str | int = ""
    pg_desc: str = ""
    backend_config: str = ""
    ranks: list[int] = field(default_factory=list)
    group_size: int = 0


def _groups(nodes: Nodes, where: str) -> list[ProcessGroup]:
    found: dict[str, ProcessGroup] = {}
    inits = flags(nodes.names, lambda name: GROUP_INIT in name)[nodes.name]
    for node in map(nodes.__getitem__, np.flatnonzero(inits).tolist()):
        place = f"{where}: node {node.id} ({node.name})"
        values = json_input.decode(bytes(node.inputs), _InitInputs, place, WHAT).values
        if not values or not isinstance(values[0], str):
            continue
        for group in json_input.decode(values[0].encode(), list[_Group], place, WHAT):
            if not 0 <= group.group_size <= _MOST_RANKS:
                problem = expected_got(f"0 to {_MOST_RANKS} ranks", group.group_size)
                raise TraceError(f"{place}: group_size: {problem}")
            ranks = group.ranks or list(range(group.group_size))  # [] means all
            name = str(group.pg_name)
            found[name] = ProcessGroup(name, group.pg_desc, group.backend_config, ranks)
    return list(found.values())
