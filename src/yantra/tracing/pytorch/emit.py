"""From replay graph to Chakra nodes, with upstream's attributes and exact times.

A batch of sends and receives becomes several nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Raw, Struct

from yantra import _core
from yantra.chakra.schema import CollectiveType, Kind, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch import balance
from yantra.tracing.pytorch.communication import STAND_INS, Communication
from yantra.tracing.pytorch.communicators import ALL, Communicators
from yantra.tracing.pytorch.cpu_collectives import NETWORK
from yantra.tracing.pytorch.graph import Graph, GraphNode
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.reduction import reduced
from yantra.tracing.pytorch.tensors import decoded
from yantra.tracing.pytorch.work.assign import COUNTED, Works
from yantra.tracing.pytorch.work.kernel_names import dtype_of, sort_of
from yantra.tracing.pytorch.work.law import Work


class _Form(NamedTuple):
    names: tuple[str, ...]
    kinds: bytes


def _form(*parts: tuple[Kind, tuple[str, ...]]) -> _Form:
    names = tuple(name for _, some in parts for name in some)
    return _Form(names, bytes(kind for kind, some in parts for _ in some))


_NUMBERS = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
_TIMES = ("start_time_ns", "duration_ns")
_HOST = _form((Kind.INT64, _NUMBERS), (Kind.STRING, ("op_schema",)))
_PART = ((Kind.BOOL, ("is_cpu_op",)), (Kind.STRING, ("part",)))
_ON_THREAD = _form(*_PART, (Kind.INT64, (*_TIMES, "thread")))
_ON_STREAM = _form(*_PART, (Kind.INT64, (*_TIMES, "stream")))
_OPERATOR = _form(
    (Kind.BOOL, ("is_cpu_op",)), (Kind.INT64, ("stream", "num_ops", *_TIMES, "thread"))
)
_LAUNCHED = _form(
    (Kind.INT64, ("num_ops",)),
    (Kind.BOOL, ("is_cpu_op",)),
    (Kind.INT64, ("stream",)),
    (Kind.UINT64, ("tensor_size",)),
)
_DELAY = _form((Kind.STRING, ("op_class",)))
_LABELS = ("op_class", "dtype", "phase")
_RAN = _form((Kind.INT64, (*_TIMES, "thread", "device", "correlation")))
_INT64 = 1 << 63
_UINT64 = 1 << 64
_PIECE = 4096  # nodes
_NO_METADATA = b"\0"  # a trace begins with its metadata: an empty message's length


class EmitOptions(Struct, frozen=True, kw_only=True):
    """How nodes are written; see `ConvertOptions`.

    `relative`: groups and peers by names that mean the same to every rank.
    """

    reduce: bool = False
    exact_collectives: bool = False
    memory_nodes: bool = False
    relative: bool = False


UNKNOWN = "other"
"""Class of a kernel whose operator and name tell none."""

COMMUNICATES = "communication"
"""Attribute of a computation that communicates: its collective, as far as named."""


def emit(
    linked: Linked,
    graph: Graph,
    items: Iterable[Communication],
    communicators: Communicators,
    options: EmitOptions,
    kept: Mapping[int, str] | None = None,
    work: Mapping[int, Work] | None = None,
) -> Iterator[bytes]:
    """Yield a rank's .et file in pieces, never whole in memory.

    `kept`: kinds of communicating device ops written as computations. `work`: of device ops.
    """
    pieces = _Emitter(linked, graph, items, communicators, options, kept or {}, work or {}).run()
    yield next(pieces).to_bytes()
    for piece in pieces:
        yield piece.to_bytes().removeprefix(_NO_METADATA)


class _Emitter:
    def __init__(
        self,
        linked: Linked,
        graph: Graph,
        items: Iterable[Communication],
        communicators: Communicators,
        options: EmitOptions,
        kept: Mapping[int, str],
        work: Mapping[int, Work],
    ) -> None:
        self.linked = linked
        self.work = work
        self.kept = kept
        self.graph = graph
        self.communicators = communicators
        self.options = options
        self.recorder = _core.TraceRecorder()
        self.operators = {op.id: op for op in linked.operators}
        self.device_ops = {op.id: op for op in linked.device_ops}
        self.parts: defaultdict[int, list[Communication]] = defaultdict(list)
        for item in items:
            if item.type is not NodeType.COMP:
                self.parts[item.op].append(item)
        self.works = Works()
        self.sizes: dict[tuple[Work | None, str], tuple[_Form, tuple[Any, ...]]] = {}
        self.next = 0

    def run(self) -> Iterator[Trace]:
        self._metadata()
        nodes = self.graph.nodes
        needed = reduced([node.deps for node in nodes]) if self.options.reduce else None
        ids = self._ids()
        for place, node in enumerate(nodes, start=1):
            parents = node.deps if needed is None else needed[node.id]
            if ids is None:
                self._node(node, parents, [] if node.ctrl is None else [node.ctrl])
            else:
                data = [id for parent in parents for id in ids[parent]]
                self._node(node, data, [] if node.ctrl is None else [ids[node.ctrl][0]])
            if place % _PIECE == 0:
                yield Trace.from_native(self.recorder.finish())
                self.recorder.end_metadata("")
        yield Trace.from_native(self.recorder.finish())

    def _ids(self) -> list[range] | None:
        if all(len(parts) == 1 for parts in self.parts.values()):
            return None
        ids = []
        first = 0
        for node in self.graph.nodes:
            count = len(self.parts.get(node.source, ())) if node.kind == "device" else 1
            ids.append(range(first, first + max(1, count)))
            first += max(1, count)
        return ids

    def _metadata(self) -> None:
        about = self.linked
        self._put("schema", Kind.STRING, about.schema)
        self._put_uint("pid", about.pid)
        self._put("time", Kind.STRING, about.time)
        for name in ("start_ts", "finish_ts", "rank", "world_size", "base_ns"):
            self._put_uint(name, getattr(about, name))
        self._put_int("origin_ns", about.origin_ns)
        self._put("complete_order", Kind.BOOL, True)
        if about.report.balance.sums():
            self._put(balance.ATTRIBUTE, Kind.STRING, balance.to_text(about.report.balance))
        self.recorder.end_metadata("")

    def _node(self, node: GraphNode, data: Sequence[int], ctrl: list[int]) -> None:
        kind = node.kind
        if kind == "device":
            self._device(node, self.device_ops[node.source], data, ctrl)
        elif kind == "operator":
            self._operator(node, self.operators[node.source], data, ctrl)
        else:
            is_cpu = node.device < 0
            names, kinds = _ON_THREAD if is_cpu else _ON_STREAM
            values = (is_cpu, kind, node.start_ns, node.dur_ns, node.lane)
            self.recorder.attributes(names, kinds, values)
            if not is_cpu and kind == "delay":
                self.recorder.attributes(*_DELAY, (kind,))
            self._end(node, NodeType.COMP, node.dur_us, data, ctrl)

    def _operator(
        self, node: GraphNode, operator: Operator, data: Sequence[int], ctrl: list[int]
    ) -> None:
        times = (None, None) if operator.start_ns is None else (node.start_ns, node.dur_ns)
        self.recorder.attributes_of(*_HOST, operator.attrs)
        values = (True, 0, self._counted(operator), *times, node.lane)
        self.recorder.attributes(*_OPERATOR, values)
        self._tensors(operator)
        type = NodeType.METADATA if "process_group:init" in operator.name else NodeType.COMP
        self._end(node, type, node.dur_us, data, ctrl)

    def _device(self, node: GraphNode, op: DeviceOp, data: Sequence[int], ctrl: list[int]) -> None:
        parts = self.parts.get(op.id, [])
        if len(parts) > 1:
            parts = sorted(parts, key=lambda part: part.type)  # sends, then receives
        operator = None if op.parent is None else self.operators.get(op.parent)
        thread = node.lane if node.is_cpu else None
        where = (None, None) if op.device == NETWORK else (op.device, op.correlation)
        for place, part in enumerate(parts or [None]):
            work = self.work.get(op.id) if part is None else None
            if operator is not None:  # upstream copies these from the launching operator
                self.recorder.attributes_of(*_HOST, operator.attrs)
            flops, size = (None, op.bytes) if work is None else (work.flops, work.bytes)
            size = None if part is not None else size
            self.recorder.attributes(*_LAUNCHED, (flops or None, False, op.stream, size))
            if part is None and op.device != NETWORK:
                self._sizes(work, op)
            type = type_of(op, self.options.memory_nodes) if part is None else self._part(part)
            self.recorder.attributes(*_RAN, (node.start_ns, node.dur_ns, thread, *where))
            if part is None and op.id in self.kept:
                self._put(COMMUNICATES, Kind.STRING, self.kept[op.id])
            if operator is not None:
                self._tensors(operator)
            self._end(node, type, 0 if place else node.dur_us, data, ctrl)

    def _sizes(self, work: Work | None, op: DeviceOp) -> None:
        """What models of compute read: a class, known or by the name, and sizes."""
        key = work, "" if work is not None else op.name
        if key not in self.sizes:
            labels = (
                (sort_of(op.name) or UNKNOWN, dtype_of(op.name), "")
                if work is None
                else (work.op_class, work.dtype, work.phase)
            )
            said = [(name, value) for name, value in zip(_LABELS, labels, strict=True) if value]
            sizes = () if work is None else work.sizes
            form = _form(
                (Kind.STRING, tuple(name for name, _ in said)),
                (Kind.INT64, tuple(name for name, _ in sizes)),
            )
            self.sizes[key] = form, (*(value for _, value in said), *(size for _, size in sizes))
        form, values = self.sizes[key]
        self.recorder.attributes(*form, values)

    def _part(self, part: Communication) -> NodeType:
        size = part.bytes or 0
        if part.type is NodeType.COMM_COLL and part.collective is not None:
            self._put("comm_type", Kind.INT64, self._collective(part.collective))
            self._put_int("comm_size", size)
        else:
            self._put_int("comm_size", size)
            self._put_ends(part)
            self._put("comm_tag", Kind.INT32, part.tag)
        name = str(self.communicators.id(part))
        if self.options.relative:
            name = self.communicators.relative(part)
        if name:
            self._put("pg_name", Kind.STRING, name)
        self._put("comm_name", Kind.STRING, part.name)
        return part.type

    def _put_ends(self, part: Communication) -> None:
        if self.options.relative:
            group = self.communicators.relative(part) or ALL
            self._put("comm_peer", Kind.STRING, f"{group}+{part.ranks.index(part.peer or 0)}")
            return
        ends = (self.linked.rank, part.peer or 0)
        source, target = ends if part.type is NodeType.COMM_SEND else ends[::-1]
        self._put("comm_src", Kind.INT32, source)
        self._put("comm_dst", Kind.INT32, target)

    def _collective(self, kind: CollectiveType) -> CollectiveType:
        return kind if self.options.exact_collectives else STAND_INS.get(kind, kind)

    def _counted(self, operator: Operator) -> int | None:
        if operator.name not in COUNTED:
            return None
        work = self.works.of(operator)
        return None if work is None else work.flops

    def _tensors(self, operator: Operator) -> None:
        recorder = self.recorder
        if not recorder.io_json(False, operator.inputs):
            recorder.io(False, *_shown(operator.inputs))
        if not recorder.io_json(True, operator.outputs):
            recorder.io(True, *_shown(operator.outputs))

    def _end(
        self, node: GraphNode, type: NodeType, micros: int, data: Sequence[int], ctrl: list[int]
    ) -> None:
        start = max(0, node.start_us)
        self.recorder.node(self.next, node.name, type, start, micros, data, ctrl)
        self.next += 1

    def _put(self, name: str, kind: Kind, value: Any) -> None:
        self.recorder.attribute(name, kind, value, "")

    def _put_int(self, name: str, value: Any) -> None:
        if type(value) is int and -_INT64 <= value < _INT64:
            self.recorder.attribute(name, Kind.INT64, value, "")

    def _put_uint(self, name: str, value: Any) -> None:
        if type(value) is int and 0 <= value < _UINT64:
            self.recorder.attribute(name, Kind.UINT64, value, "")


def type_of(op: DeviceOp, memory_nodes: bool) -> NodeType:
    if memory_nodes and op.cat == "gpu_memcpy" and op.bytes is not None:
        if "HtoD" in op.name:
            return NodeType.MEM_LOAD
        if "DtoH" in op.name:
            return NodeType.MEM_STORE
    return NodeType.COMP


def _shown(raw: Raw) -> tuple[str, str, str]:
    io = decoded(raw)
    return (
        str(io.values) if io.values else "[]",
        str(io.shapes) if io.shapes else "[]",
        str(io.types) if io.types else "[]",
    )
