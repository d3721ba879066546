"""The linked file: JSON in the form of the field's tools, with additions.

A host trace's keys plus linking's ("ET+"), times in us; device nodes copy their operator's tensors
and attributes. Only our keys are read back: exact ns per node, and one object "yantra".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import UNSET, Raw, Struct, UnsetType, field

from yantra import _core
from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.tracing.pytorch import json_input, linked_columns
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.linked import (
    EMPTY_IO,
    Annotation,
    Attr,
    CommArgs,
    DeviceOp,
    Flow,
    Linked,
    LinkReport,
    Operator,
    ProcessGroup,
    Wait,
)
from yantra.tracing.pytorch.node_file import read_nodes
from yantra.tracing.pytorch.shared import Shared

FORM = 1
_BATCH = 1000
WHAT = "linked trace written by yantra chakra link"


class _Launch(Struct, gc=False):
    tid: int
    start_ns: int
    end_ns: int
    name: str


class _Node(Struct, gc=False):
    id: int
    name: str
    ctrl_deps: int
    inputs: Raw = EMPTY_IO
    outputs: Raw = EMPTY_IO
    attrs: list[Attr] = []
    inclusive_dur: float | int | UnsetType = UNSET
    exclusive_dur: float | int | UnsetType = UNSET
    ts: float | int | UnsetType = UNSET
    inter_thread_dep: int | UnsetType | None = UNSET
    cat: str | UnsetType = UNSET
    ph: str | UnsetType = UNSET
    stream: int | UnsetType = UNSET
    pg_name: str | UnsetType = UNSET
    host_id: int | UnsetType = UNSET
    tid: int | UnsetType = UNSET
    start_ns: int | UnsetType = UNSET
    dur_ns: int | UnsetType = UNSET
    exclusive_ns: int | UnsetType = UNSET
    device: int | UnsetType = UNSET
    correlation: int | UnsetType = UNSET
    launch: _Launch | UnsetType = UNSET
    after: list[int] | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    comm: CommArgs | UnsetType = UNSET


class _Yantra(Struct):
    form: int
    rank: int
    world_size: int
    origin_ns: int
    base_ns: int
    waits: list[Wait]
    flows: list[Flow]
    groups: list[ProcessGroup]
    annotations: list[Annotation]
    report: LinkReport


class _File(Struct):
    schema: str
    pid: int
    time: str
    start_ts: int
    nodes: list[_Node]
    finish_ts: int
    yantra: _Yantra | None = field(default=None)


def to_json(linked: Linked) -> bytes:
    return b"".join(_pieces(linked))


@without_collector
def write(linked: Linked, path: str) -> None:
    files.save_pieces(_pieces(linked), path)


def _pieces(linked: Linked) -> Iterator[bytes]:
    encode = msgspec.json.encode
    head = {"schema": linked.schema, "pid": linked.pid, "time": linked.time}
    yield encode({**head, "start_ts": linked.start_ts})[:-1] + b',"nodes":['
    yield from _node_pieces(linked)
    extra = _Yantra(
        form=FORM,
        rank=linked.rank,
        world_size=linked.world_size,
        origin_ns=linked.origin_ns,
        base_ns=linked.base_ns,
        waits=linked.waits,
        flows=linked.flows,
        groups=linked.groups,
        annotations=linked.annotations,
        report=linked.report,
    )
    yield b"]," + encode({"finish_ts": linked.finish_ts, "yantra": extra})[1:]


def _node_pieces(linked: Linked) -> Iterator[bytes]:
    operators: Any = linked.operators
    if isinstance(operators, linked_columns.Operators):
        sources = np.full(len(operators), -1)
        for flow in linked.flows:
            sources[np.searchsorted(operators.id, flow.target)] = flow.source
        text = _core.LinkedText(operators.common.file, linked.origin_ns, sources)
        while piece := text.next():
            yield piece
        return
    nodes = _nodes(linked)
    comma = b""
    while batch := list(islice(nodes, _BATCH)):
        yield comma + msgspec.json.encode(batch)[1:-1]
        comma = b","


@without_collector
def read(path: str) -> Linked:
    """Read into columns, or node by node. Raises TraceError when the file is not ours."""
    found = linked_columns.read(path)
    if found is not None:
        header, operators, ops = found
        with suppress(msgspec.ValidationError):
            file = msgspec.convert(header | {"nodes": []}, _File)
            return _linked(file, (cast(Any, operators), cast(Any, ops)), path)
    gathered = _Gathered()
    header = read_nodes(path, _Node, gathered.take)
    try:
        file = msgspec.convert(header | {"nodes": []}, _File)
        return _linked(file, (gathered.operators, gathered.device_ops), path)
    except msgspec.ValidationError as error:
        raise TraceError(f"{path}: {error}; this is no {WHAT}") from None


def parse(data: bytes, where: str) -> Linked:
    file = json_input.decode(data, _File, where, WHAT)
    gathered = _Gathered()
    gathered.take(file.nodes)
    return _linked(file, (gathered.operators, gathered.device_ops), where)


class _Gathered:
    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self.device_ops: list[DeviceOp] = []
        self._shared = Shared()

    def take(self, nodes: list[_Node]) -> None:
        shared = self._shared
        for node in nodes:
            node.name = shared.text(node.name)
            if node.cat is UNSET:
                node.attrs = shared.attrs(node.attrs)
                node.inputs, node.outputs = shared.raw(node.inputs), shared.raw(node.outputs)
                self.operators.append(_operator(node))
            else:
                node.cat = shared.text(node.cat)
                if node.launch:
                    node.launch.name = shared.text(node.launch.name)
                self.device_ops.append(_device_op(node))


def _linked(file: _File, nodes: tuple[list[Operator], list[DeviceOp]], where: str) -> Linked:
    extra = file.yantra
    if extra is None:
        raise TraceError(
            f"{where}: has no field 'yantra'; expected a {WHAT}; "
            "a file linked by another tool must be linked again"
        )
    if extra.form != FORM:
        raise TraceError(f"{where} at $.yantra.form: expected {FORM}, got {extra.form}")
    linked = Linked(
        schema=file.schema,
        pid=file.pid,
        time=file.time,
        start_ts=file.start_ts,
        finish_ts=file.finish_ts,
        rank=extra.rank,
        world_size=extra.world_size,
        origin_ns=extra.origin_ns,
        base_ns=extra.base_ns,
        operators=nodes[0],
        device_ops=nodes[1],
        waits=extra.waits,
        flows=extra.flows,
        groups=extra.groups,
        annotations=extra.annotations,
        report=extra.report,
    )
    _check(linked, where)
    return linked


def _check(linked: Linked, where: str) -> None:
    operators = [operator.id for operator in linked.operators]
    devices = [op.id for op in linked.device_ops]
    known_operators, known_devices = set(operators), set(devices)
    used_operators = [wait.op for wait in linked.waits]
    used_operators += [end for flow in linked.flows for end in (flow.source, flow.target)]
    used_devices = [other for wait in linked.waits for other in wait.after]
    if not isinstance(linked.operators, linked_columns.Operators):  # those are checked
        ids = sorted(operators + devices)
        if operators != sorted(known_operators) or ids != sorted({*ids}):
            raise TraceError(f"{where} at $.nodes: ids must be ascending and each there once")
        used_operators[:0] = [op.parent for op in linked.operators]
        used_operators += [op.parent for op in linked.device_ops]
        used_devices[:0] = [other for op in linked.device_ops for other in op.after]
    for used, known, what in (
        (used_operators, known_operators, "operator"),
        (used_devices, known_devices, "device op"),
    ):
        missing = next((i for i in used if i is not None and i not in known), None)
        if missing is not None:
            raise TraceError(f"{where}: refers to the {what} {missing}, which is not there")


def _nodes(linked: Linked) -> Iterator[_Node]:
    source_of = _thread_sources(linked)
    by_id = {operator.id: operator for operator in linked.operators}
    ops = iter(linked.device_ops)
    op = next(ops, None)
    for operator in linked.operators:
        while op is not None and op.id < operator.id:
            yield _from_device_op(op, by_id, linked.origin_ns)
            op = next(ops, None)
        yield _from_operator(operator, source_of.get(operator.id), linked.origin_ns)
    while op is not None:
        yield _from_device_op(op, by_id, linked.origin_ns)
        op = next(ops, None)


def _thread_sources(linked: Linked) -> dict[int, int]:
    return {flow.target: flow.source for flow in linked.flows}


def _from_operator(operator: Operator, source: int | None, origin: int) -> _Node:
    node = _Node(
        id=operator.id,
        name=operator.name,
        ctrl_deps=operator.id if operator.parent is None else operator.parent,
        inputs=operator.inputs,
        outputs=operator.outputs,
        attrs=operator.attrs,
        host_id=operator.host_id,
        tid=operator.tid,
    )
    if operator.start_ns is not None:
        node.inclusive_dur = _micros(operator.dur_ns)
        node.exclusive_dur = _micros(operator.exclusive_ns)
        node.ts = _micros(origin + operator.start_ns)
        node.inter_thread_dep = source
        node.start_ns = operator.start_ns
        node.dur_ns = operator.dur_ns
        node.exclusive_ns = operator.exclusive_ns
    if operator.comm is not None:
        node.comm = operator.comm
    return node


def _from_device_op(op: DeviceOp, operators: dict[int, Operator], origin: int) -> _Node:
    parent = operators.get(op.parent) if op.parent is not None else None
    node = _Node(
        id=op.id,
        name=op.name,
        ctrl_deps=op.id if op.parent is None else op.parent,
        inclusive_dur=_micros(op.dur_ns),
        exclusive_dur=_micros(op.dur_ns),
        ts=_micros(origin + op.start_ns),
        inter_thread_dep=None,
        cat=op.cat,
        ph="X",
        stream=op.stream,
        start_ns=op.start_ns,
        dur_ns=op.dur_ns,
        device=op.device,
        correlation=op.correlation,
        after=op.after,
    )
    if parent is not None:
        node.inputs, node.outputs, node.attrs = parent.inputs, parent.outputs, parent.attrs
    if op.launch_tid is not None and op.launch_start_ns is not None:
        end = op.launch_end_ns or op.launch_start_ns
        node.launch = _Launch(op.launch_tid, op.launch_start_ns, end, op.launch_name)
    if op.pg_name:
        node.pg_name = op.pg_name
    if op.bytes is not None:
        node.bytes = op.bytes
    if op.comm is not None:
        node.comm = op.comm
    return node


def _operator(node: _Node) -> Operator:
    return Operator(
        id=node.id,
        host_id=node.host_id or 0,
        name=node.name,
        parent=None if node.ctrl_deps == node.id else node.ctrl_deps,
        tid=node.tid or 0,
        attrs=node.attrs,
        inputs=node.inputs,
        outputs=node.outputs,
        start_ns=None if node.start_ns is UNSET else node.start_ns,
        dur_ns=node.dur_ns or 0,
        exclusive_ns=node.exclusive_ns or 0,
        comm=node.comm or None,
    )


def _device_op(node: _Node) -> DeviceOp:
    launch = node.launch or None
    return DeviceOp(
        id=node.id,
        name=node.name,
        cat=node.cat or "",
        device=node.device or 0,
        stream=node.stream or 0,
        start_ns=node.start_ns or 0,
        dur_ns=node.dur_ns or 0,
        correlation=node.correlation or 0,
        parent=None if node.ctrl_deps == node.id else node.ctrl_deps,
        launch_tid=launch.tid if launch else None,
        launch_start_ns=launch.start_ns if launch else None,
        launch_end_ns=launch.end_ns if launch else None,
        launch_name=launch.name if launch else "",
        after=node.after or [],
        bytes=None if node.bytes is UNSET else node.bytes,
        pg_name=node.pg_name or "",
        comm=node.comm or None,
    )


def _micros(nanos: int) -> float | int:
    whole, rest = divmod(nanos, 1000)
    return nanos / 1000 if rest else whole
