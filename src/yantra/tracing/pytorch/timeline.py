"""How long a rank's replay graph took, on few slots too, and its share of delays."""

from __future__ import annotations

from collections.abc import Iterable

from yantra import _core
from yantra.chakra.schema import Kind, NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.emit import type_of
from yantra.tracing.pytorch.graph import Graph
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.recorded import Recorded, recorded


def timeline(
    linked: Linked, graph: Graph, items: Iterable[Communication], memory_nodes: bool
) -> Recorded:
    types: dict[int, NodeType] = {
        item.op: item.type for item in items if item.type is not NodeType.COMP
    }
    for op in linked.device_ops:
        types.setdefault(op.id, type_of(op, memory_nodes))
    recorder = _core.TraceRecorder()
    recorder.end_metadata("")
    boolean, none = int(Kind.BOOL), list[int]()
    attribute, record = recorder.attribute, recorder.node
    for node in graph.nodes:
        is_device = node.kind == "device"
        type = types[node.source] if is_device else NodeType.COMP
        attribute("is_cpu_op", boolean, node.device < 0 and not is_device, "")
        record(node.id, node.name, type, 0, node.dur_us, node.deps, none)
    return recorded(recorder.finish().graph())
