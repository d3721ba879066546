"""From replay graph to Chakra nodes, with upstream's attributes and exact times.

A batch of sends and receives becomes several nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from yantra import _core
from yantra.chakra.schema import CollectiveType, Kind, NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch import balance
from yantra.tracing.pytorch.communication import STAND_INS, Communication
from yantra.tracing.pytorch.communicators import ALL, Communicators
from yantra.tracing.pytorch.cpu_collectives import NETWORK
from yantra.tracing.pytorch.graph import Graph, GraphNode
from yantra.tracing.pytorch.linked import Linked, Operator
from yantra.tracing.pytorch.node_facts import NUMBERS, Facts, form, shown, type_of
from yantra.tracing.pytorch.reduction import reduced

_HOST = form((Kind.INT64, NUMBERS), (Kind.STRING, ("op_schema",)))
_LAUNCHED = form(
    (Kind.INT64, ("num_ops",)),
    (Kind.BOOL, ("is_cpu_op",)),
    (Kind.INT64, ("stream",)),
    (Kind.UINT64, ("tensor_size",)),
)
_RAN = form((Kind.INT64, ("start_time_ns", "duration_ns", "thread", "device", "correlation")))
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


COMMUNICATES = "communication"
"""Attribute of a computation that communicates: its collective, as far as named."""


def emit(
    linked: Linked,
    graph: Graph,
    facts: Facts,
    items: Iterable[Communication],
    communicators: Communicators,
    options: EmitOptions,
) -> Iterator[bytes]:
    """Yield a rank's .et file in pieces, never whole in memory."""
    pieces = _Emitter(linked, graph, facts, items, communicators, options).run()
    yield next(pieces).to_bytes()
    for piece in pieces:
        yield piece.to_bytes().removeprefix(_NO_METADATA)


class _Emitter:
    """Writes what the core leaves to it: ops that communicate or have no usual device."""

    def __init__(
        self,
        linked: Linked,
        graph: Graph,
        facts: Facts,
        items: Iterable[Communication],
        communicators: Communicators,
        options: EmitOptions,
    ) -> None:
        self.linked = linked
        self.graph = graph
        self.facts = facts
        self.communicators = communicators
        self.options = options
        self.recorder = _core.TraceRecorder()
        self.parts: defaultdict[int, list[Communication]] = defaultdict(list)
        for item in items:
            if item.type is not NodeType.COMP:
                self.parts[item.op].append(item)

    def run(self) -> Iterator[Trace]:
        self._metadata()
        core, facts, count = self.graph.nodes.core, self.facts.core, len(self.graph.nodes)
        if self.options.reduce:
            core.replace_deps(reduced([core.deps(node) for node in range(count)]))
        facts.number(core)
        for begin in range(0, count, _PIECE):
            at, end = begin, min(begin + _PIECE, count)
            while (at := self.recorder.replay(facts, core, at, end)) < end:
                self._device(self.graph.nodes[at])
                at += 1
            if end < count:
                yield Trace.from_native(self.recorder.finish())
                self.recorder.end_metadata("")
        yield Trace.from_native(self.recorder.finish())

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

    def _device(self, node: GraphNode) -> None:
        op = self.facts.device_ops[node.source]
        parts = sorted(self.parts.get(op.id, []), key=lambda part: part.type)  # sends first
        operator = None if op.parent is None else self.facts.operators.get(op.parent)
        thread = node.lane if node.is_cpu else None
        where = (None, None) if op.device == NETWORK else (op.device, op.correlation)
        for place, part in enumerate(parts or [None]):
            if operator is not None:  # upstream copies these from the launching operator
                self.recorder.attributes_of(*_HOST, operator.attrs)
            flops, size = (None, None) if part is not None else self.facts.amounts(op)
            self.recorder.attributes(*_LAUNCHED, (flops or None, False, op.stream, size))
            if part is None and op.device != NETWORK:
                self.recorder.attributes(*self.facts.sizes(op))
            type = type_of(op, self.options.memory_nodes) if part is None else self._part(part)
            self.recorder.attributes(*_RAN, (node.start_ns, node.dur_ns, thread, *where))
            if part is None and op.id in self.facts.kept:
                self._put(COMMUNICATES, Kind.STRING, self.facts.kept[op.id])
            if operator is not None:
                self._tensors(operator)
            self._end(node, place, type, 0 if place else node.dur_us)

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

    def _tensors(self, operator: Operator) -> None:
        recorder = self.recorder
        if not recorder.io_json(False, operator.inputs):
            recorder.io(False, *shown(operator.inputs))
        if not recorder.io_json(True, operator.outputs):
            recorder.io(True, *shown(operator.outputs))

    def _end(self, node: GraphNode, part: int, type: NodeType, micros: int) -> None:
        core, facts = self.graph.nodes.core, self.facts.core
        data, ctrl = facts.deps(core, node.id), facts.ctrl(core, node.id)
        start = max(0, node.start_us)
        self.recorder.node(facts.id(node.id) + part, node.name, type, start, micros, data, ctrl)

    def _put(self, name: str, kind: Kind, value: Any) -> None:
        self.recorder.attribute(name, kind, value, "")

    def _put_int(self, name: str, value: Any) -> None:
        if type(value) is int and -_INT64 <= value < _INT64:
            self.recorder.attribute(name, Kind.INT64, value, "")

    def _put_uint(self, name: str, value: Any) -> None:
        if type(value) is int and 0 <= value < _UINT64:
            self.recorder.attribute(name, Kind.UINT64, value, "")
