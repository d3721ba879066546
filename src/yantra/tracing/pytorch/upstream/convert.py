"""Upstream's PyTorch converter for linked and host traces, byte for byte.

Defects kept: sizes sum all input tensors, sync edges never arrive (compared by start times nobody
sets), control dependencies may name removed nodes, device ops have no dependents, durations lose
fractions. A crash is a TraceError.

Source: MLCommons Chakra 1.0.0 (21585d8), converter for PyTorch traces.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from yantra import _core
from yantra.base.errors import TraceError, show
from yantra.chakra.schema import CollectiveType, Kind, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.json_list import Header
from yantra.tracing.pytorch.node_file import read_nodes

SCHEMAS = tuple(f"{layout}-chakra.0.0.4" for layout in ("1.0.2", "1.0.3", "1.1.0", "1.1.1"))
_THREADS = (
    "[pytorch|profiler|execution_graph|thread]",
    "[pytorch|profiler|execution_trace|thread]",
)
# The first that occurs in a kernel's name counts.
_COLLECTIVES = {
    "allreduce": CollectiveType.ALL_REDUCE,
    "alltoall": CollectiveType.ALL_TO_ALL,
    "allgather": CollectiveType.ALL_GATHER,
    "reducescatter": CollectiveType.REDUCE_SCATTER,
    "broadcast": CollectiveType.BROADCAST,
}
_SEND_RECV = "ncclDevKernel_SendRecv"
_NUMBERS = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
_HEADER = {
    "schema": Kind.STRING,
    "pid": Kind.UINT64,
    "time": Kind.STRING,
    "start_ts": Kind.UINT64,
    "finish_ts": Kind.UINT64,
}


class _Attr(msgspec.Struct, gc=False):
    name: str
    value: Any


class _Io(msgspec.Struct, gc=False):
    values: list[Any]
    shapes: list[Any]
    types: list[Any]

    def texts(self, known: dict[str, str]) -> tuple[str, str, str]:
        shapes, types = _listed(self.shapes), _listed(self.types)
        return (
            _listed(self.values),
            known.setdefault(shapes, shapes),
            known.setdefault(types, types),
        )


class _Node(msgspec.Struct, gc=False):
    id: int
    name: str
    ctrl_deps: int | None
    inputs: _Io
    outputs: _Io
    attrs: list[_Attr] = []
    exclusive_dur: int | float = 0
    inter_thread_dep: int | None = None
    cat: Any = None
    stream: int | None = 0
    pg_name: str = ""


class _Item:
    __slots__ = (
        "children",
        "comm_size",
        "ctrl_deps",
        "data_deps",
        "id",
        "inputs",
        "inter_thread_dep",
        "is_gpu",
        "micros",
        "name",
        "numbers",
        "op_schema",
        "outputs",
        "parent",
        "pg_name",
        "stream",
        "type",
    )

    def __init__(self, node: _Node, known: dict[str, str], where: str) -> None:
        attrs = {attr.name: attr.value for attr in node.attrs}
        self.id = node.id
        self.name = node.name
        self.parent = node.ctrl_deps
        self.inter_thread_dep = node.inter_thread_dep
        self.is_gpu = node.cat is not None
        self.stream = attrs.get("stream", node.stream)
        self.pg_name = attrs.get("pg_name", node.pg_name)
        try:
            self.numbers = tuple([attrs[name] for name in _NUMBERS])
            schema = attrs["op_schema"]
        except KeyError as missing:
            raise TraceError(f"{where}: {self.label}: the attribute {missing} is missing") from None
        self.op_schema = known.setdefault(schema, schema) if type(schema) is str else schema
        self.inputs = node.inputs.texts(known)
        self.outputs = node.outputs.texts(known)
        self.micros = 0 if "Optimizer.step" in node.name else _whole(node.exclusive_dur)
        self.comm_size = _tensor_bytes(node.inputs) if self.is_gpu and "nccl" in node.name else 0
        self.children: list[_Item] = []
        self.data_deps: list[int] = []
        self.ctrl_deps: list[int] = []
        self.type = NodeType.INVALID

    @property
    def label(self) -> str:
        return f"node {self.id} {self.name!r}"

    @property
    def is_metadata(self) -> bool:
        return "process_group:init" in self.name


@without_collector
def convert(path: str | os.PathLike[str]) -> Trace:
    """Convert a linked or host trace (JSON, plain or gzip) as upstream does.

    Raises TraceError where upstream fails: a schema not in `SCHEMAS`, an NCCL kernel of unknown
    collective, a cycle, missing fields.
    """
    return _Conversion(os.fspath(path)).run()


class _Conversion:
    def __init__(self, where: str) -> None:
        self.where = where
        self.items: dict[int, _Item] = {}
        self.header: Header = {}
        self.texts: dict[str, str] = {}  # shared by many nodes
        self.converted: dict[int, _Item] = {}

    def run(self) -> Trace:
        self.header = read_nodes(self.where, _Node, self._take, self._check_schema)
        self._check_schema(self.header)
        self._connect()
        self._convert()
        for item in self.converted.values():
            if item.name in _THREADS:
                self._order(item)
        self._remove_dangling()
        _check_cycles(self.converted, self.where)
        return self._write()

    def _take(self, nodes: list[_Node]) -> None:
        for node in nodes:
            self.items[node.id] = _Item(node, self.texts, self.where)

    def _check_schema(self, header: Header) -> None:
        schema = header.get("schema", "")
        if header and schema not in SCHEMAS:
            raise TraceError(
                f"{self.where}: upstream's converter does not read schema {show(schema)}; it reads "
                f"{', '.join(SCHEMAS)}; convert without compatibility instead"
            )

    def _connect(self) -> None:
        for item in self.items.values():
            parent = self.items.get(item.parent)  # type: ignore[arg-type]
            if parent is not None:
                parent.children.append(item)

    def _convert(self) -> None:
        for item in self.items.values():
            if item.is_gpu and not item.is_metadata:
                continue
            self._convert_one(item)
            for child in item.children:
                if child.is_gpu:
                    self._convert_one(child)

    def _convert_one(self, item: _Item) -> None:
        item.type = self._type(item)
        item.ctrl_deps = [item.parent] if item.parent in self.converted else []
        self.converted[item.id] = item

    def _type(self, item: _Item) -> NodeType:
        if item.is_metadata:
            return NodeType.METADATA
        if not item.is_gpu:
            return NodeType.COMP
        if _SEND_RECV in item.name:
            keyword = self._calling(item)
            if "send" in keyword:
                return NodeType.COMM_SEND
            if "recv" in keyword:
                return NodeType.COMM_RECV
        if "ncclKernel" in item.name or "ncclDevKernel" in item.name:
            return NodeType.COMM_COLL
        return NodeType.COMP

    def _calling(self, item: _Item) -> str:
        parent = self.items[item.parent]  # type: ignore[index]
        if parent.name != "record_param_comms":
            return parent.name
        if parent.pg_name != "":
            item.pg_name = parent.pg_name
        caller = self.items.get(parent.parent)  # type: ignore[arg-type]
        if caller is None:
            raise TraceError(
                f"{self.where}: {parent.label}: its caller, which says what {item.name} does, "
                f"is not in the trace"
            )
        return caller.name

    def _order(self, root: _Item) -> None:
        visited: set[int] = set()
        stack = [root]
        last_cpu: int | None = None
        last_any: int | None = None
        while stack:
            item = stack.pop()
            if item.id in visited:
                continue
            visited.add(item.id)
            deps = item.data_deps
            if item.is_gpu and not item.is_metadata:
                if last_any is not None and last_any not in deps:
                    deps.append(last_any)
                last_any = last_cpu
            else:
                if item.inter_thread_dep and item.inter_thread_dep not in deps:
                    deps.append(item.inter_thread_dep)
                if last_cpu is not None and last_cpu not in deps:
                    deps.append(last_cpu)
                last_cpu = last_any = item.id
            children = [child for child in item.children if child.id in self.converted]
            children.sort(key=lambda child: -child.id)
            stack += children

    def _remove_dangling(self) -> None:
        named: set[int] = set()
        for item in self.converted.values():
            named.update(item.data_deps)
        self.converted = {
            id: item for id, item in self.converted.items() if item.data_deps or id in named
        }

    def _write(self) -> Trace:
        recorder = _core.TraceRecorder()
        for name, kind in _HEADER.items():
            if name not in self.header:
                raise TraceError(
                    f"{self.where}: the field `{name}` is missing; the recording was cut short"
                )
            _attribute(recorder, name, kind, self.header[name], self.where)
        recorder.end_metadata("")
        self.items.clear()
        for id in sorted(self.converted):
            self._write_node(recorder, self.converted.pop(id))
        return Trace.from_native(recorder.finish())

    def _write_node(self, recorder: _core.TraceRecorder, item: _Item) -> None:
        where = f"{self.where}: {item.label}"
        for name, number in zip(_NUMBERS, item.numbers, strict=True):
            _attribute(recorder, name, Kind.INT64, number, where)
        _attribute(recorder, "op_schema", Kind.STRING, item.op_schema, where)
        recorder.attribute("is_cpu_op", Kind.BOOL, not item.is_gpu, "")
        if item.stream is not None:
            _attribute(recorder, "stream", Kind.INT64, item.stream, where)
        for name, kind, value in self._communication(item):
            _attribute(recorder, name, kind, value, where)
        try:
            recorder.io(False, *item.inputs)
            recorder.io(True, *item.outputs)
            recorder.node(
                item.id, item.name, item.type, 0, item.micros, item.data_deps, item.ctrl_deps
            )
        except (TypeError, RuntimeError, UnicodeError):
            raise TraceError(
                f"{where}: its id or its duration is out of range, or a text is not UTF-8"
            ) from None

    def _communication(self, item: _Item) -> Iterator[tuple[str, Kind, Any]]:
        if item.type not in (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV):
            return
        if item.type == NodeType.COMM_COLL:
            yield "comm_type", Kind.INT64, self._collective(item)
        yield "comm_size", Kind.INT64, item.comm_size
        if item.pg_name != "":
            yield "pg_name", Kind.STRING, item.pg_name

    def _collective(self, item: _Item) -> CollectiveType:
        plain = item.name.replace("_", "").replace("-", "").lower()
        for key, collective in _COLLECTIVES.items():
            if key in plain:
                return collective
        if _SEND_RECV in item.name:
            return CollectiveType.ALL_TO_ALL
        raise TraceError(
            f"{self.where}: {item.label}: upstream's converter cannot name the collective of this "
            "kernel and stops here; convert without compatibility instead"
        )


def _listed(values: list[Any]) -> str:
    return str(values) if values else "[]"


def _whole(micros: int | float) -> int:
    try:
        return int(micros)
    except (ValueError, OverflowError):
        return -1


def _tensor_bytes(io: _Io) -> int | None:
    total = 0
    try:
        for value, type in zip(io.values, io.types, strict=False):
            if "Tensor" in type:
                tensors = value if type.startswith("GenericList[Tensor") else [value]
                total += sum(tensor[3] * tensor[4] for tensor in tensors)
    except (TypeError, IndexError, KeyError, AttributeError):
        return None
    return total


def _attribute(
    recorder: _core.TraceRecorder, name: str, kind: Kind, value: Any, where: str
) -> None:
    expected = str if kind is Kind.STRING else int
    if type(value) is not expected and not (expected is int and isinstance(value, int)):
        raise TraceError(f"{where}: {name} must be {kind.name.lower()}, got {show(value)}")
    try:
        recorder.attribute(name, kind, value, "")
    except (TypeError, RuntimeError, UnicodeError):
        raise TraceError(f"{where}: {name} {show(value)} does not fit its type") from None


def _check_cycles(items: dict[int, _Item], where: str) -> None:
    done: set[int] = set()
    for begin in items:
        if begin in done:
            continue
        path: dict[int, None] = {begin: None}
        pending = [iter(items[begin].data_deps)]
        while pending:
            id = next(pending[-1], None)
            if id is None:
                pending.pop()
                done.add(path.popitem()[0])
            elif id in path:
                raise TraceError(f"{where}: {_cycle([*path, id], items)}")
            elif id not in done:
                if id not in items:
                    raise TraceError(f"{where}: node {next(reversed(path))} waits for {id}, absent")
                path[id] = None
                pending.append(iter(items[id].data_deps))


def _cycle(path: list[int], items: dict[int, _Item]) -> str:
    names = [items[id].label for id in path[path.index(path[-1]) :]]
    shown = names if len(names) <= 6 else [*names[:3], "...", *names[-2:]]
    return f"the dependencies form a cycle: {' -> '.join(shown)}"
