"""`Columns`: a trace as lists by node, for the inspecting tools.

Nodes are numbered as in the core's graph, by ascending id.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from yantra import _core
from yantra.chakra.schema import CollectiveType, NodeType, lane_of
from yantra.chakra.trace import Trace

KINDS = ("cpu", "gpu_compute", "communication", "memory", "delay", "other")
"""Kinds of a node's time."""

_WORLD = ("", "0")
_PRESENT = _core.IntColumn.Kind.INTEGER.value
_SIGN, _RANGE = 1 << 63, 1 << 64


class Extra(NamedTuple):
    """Attributes beyond the graph's; None where missing.

    `thread`: our converter's lane, else PyTorch's `tid`. `part`: a later `slice` of an operator, a
    `wait`, or a `delay`, time nothing recorded explains. `communication`: kind, where size or
    members are unknown.
    """

    stream: int | None
    thread: int | None
    start_ns: int | None
    duration_ns: int | None
    part: str | None
    communication: str | None

    @property
    def is_delay(self) -> bool:
        return self.part == "delay"


class Columns:
    """A trace by node: node i has the i-th lowest id."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.graph = graph = trace.graph(merge_duplicates=True)
        self.count = len(graph)
        self.id: list[int] = graph.id.tolist()
        self.type: list[int] = graph.type.tolist()
        self.duration: list[int] = graph.duration_micros.tolist()
        self.parent_begin: list[int] = graph.parent_begin.tolist()
        self.parent: list[int] = graph.parent.tolist()
        self.child_begin: list[int] = graph.child_begin.tolist()
        self.child: list[int] = graph.child.tolist()
        self.comm_type = self.integers("comm_type")
        self.comm_size = self.integers("comm_size")
        self.tensor_size = self.integers("tensor_size")
        self.is_cpu = [bool(value) for value in self.integers("is_cpu_op")]

    def integers(self, attribute: str) -> list[int | None]:
        """Integer attribute by node: None if absent or of another type."""
        column: _core.IntColumn = getattr(self.graph, attribute)
        if not len(column.kind):
            return [None] * self.count
        return [
            (value - _RANGE if value >= _SIGN else value) if kind == _PRESENT else None
            for value, kind in zip(column.value.tolist(), column.kind.tolist(), strict=True)
        ]

    def parents(self, node: int) -> list[int]:
        return self.parent[self.parent_begin[node] : self.parent_begin[node + 1]]

    def children(self, node: int) -> list[int]:
        return self.child[self.child_begin[node] : self.child_begin[node + 1]]

    def name(self, node: int) -> str:
        return self.graph.name(node)

    @cached_property
    def record(self) -> list[int]:
        """Place in the file of the record that gave each node its body."""
        if len(self.trace) == self.count:
            record = [0] * self.count
            for place, node in enumerate(self.graph.file_order.tolist()):
                record[node] = place
            return record
        last = {id: place for place, id in enumerate(self.trace.native.id.tolist())}
        return [last[id] for id in self.id]

    @cached_property
    def start(self) -> list[int]:
        """Recorded start in us; 0 also if missing."""
        starts = self.trace.native.start_micros.tolist()
        return [starts[place] for place in self.record]

    @cached_property
    def group(self) -> list[str]:
        """Each node's communicator; "0" if unnamed."""
        names = self.graph.pg_names
        return [
            "0" if at < 0 or names[at] in _WORLD else names[at]
            for at in self.graph.pg_name.tolist()
        ]

    @cached_property
    def extra(self) -> list[Extra]:
        attributes = self.trace.native.attributes
        return [_extra(attributes(place)) for place in self.record]

    @cached_property
    def kind(self) -> list[str]:
        return [
            _kind(type, cpu, extra)
            for type, cpu, extra in zip(self.type, self.is_cpu, self.extra, strict=True)
        ]

    @cached_property
    def lane(self) -> list[str]:
        """What runs nodes one by one: a CPU thread, a GPU stream, a communicator."""
        return [
            _lane(kind, extra, group, cpu)
            for kind, extra, group, cpu in zip(
                self.kind, self.extra, self.group, self.is_cpu, strict=True
            )
        ]

    @cached_property
    def _involved(self) -> tuple[list[int], list[int]]:
        return self.graph.involved_mask.tolist(), self.graph.involved_len.tolist()

    def involved(self, node: int) -> tuple[int, int]:
        """`involved_dim` as (bits, length); length 0 if absent, 255 if no list."""
        masks, lengths = self._involved
        return (masks[node], lengths[node]) if lengths else (0, 0)

    def label(self, node: int) -> str:
        return f"node {self.id[node]} {self.name(node)!r}"


def collective_name(comm_type: int | None) -> str:
    """`ALL_REDUCE` and the like; the number if unknown."""
    if comm_type is None:
        return "unknown"
    if 0 <= comm_type < len(CollectiveType):
        return CollectiveType(comm_type).name
    return f"type {comm_type}"


def _kind(type: int, cpu: bool, extra: Extra) -> str:
    if extra.is_delay:
        return "delay"
    if type == NodeType.COMP:
        if extra.communication is not None:
            return "communication"
        return "cpu" if cpu else "gpu_compute"
    lane = lane_of(type)
    if lane is None:
        return "other"
    return "memory" if lane == "memory" else "communication"


def _lane(kind: str, extra: Extra, group: str, cpu: bool) -> str:
    if kind == "communication" and extra.communication is None:
        return f"group {group}"
    if kind == "memory":
        return "memory"
    if cpu or kind == "other":
        return f"cpu thread {extra.thread or 0}"
    return f"gpu stream {extra.stream or 0}"


def _extra(rows: list[_core.AttributeRow]) -> Extra:
    stream = tid = thread = start_ns = duration_ns = None
    part = communication = None
    for name, _, value, _ in rows:
        if name == "stream":
            stream = _integer(value)
        elif name == "tid":
            tid = _integer(value)
        elif name == "thread":
            thread = _integer(value)
        elif name == "start_time_ns":
            start_ns = _integer(value)
        elif name == "duration_ns":
            duration_ns = _integer(value)
        elif name == "part":
            part = value if isinstance(value, str) else None
        elif name == "communication":
            communication = value if isinstance(value, str) else None
    lane = tid if thread is None else thread
    return Extra(stream, lane, start_ns, duration_ns, part, communication)


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
