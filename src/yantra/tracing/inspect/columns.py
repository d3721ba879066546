"""`Columns`: a trace by node, for the inspecting tools.

Numbers lie in arrays of 8 bytes each, which give Python's integers one by one: a list of them would
take five times as much.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from yantra import _core
from yantra.chakra.schema import CollectiveType, NodeType, lane_of
from yantra.chakra.trace import Trace

KINDS = ("cpu", "gpu_compute", "communication", "memory", "delay", "other")
"""Kinds of a node's time."""

STREAM, THREAD, START, DURATION = range(4)
"""Numbers of an `Extra`."""

_WORLD = ("", "0")
_PRESENT = _core.IntColumn.Kind.INTEGER.value
_SIGN, _RANGE = 1 << 63, 1 << 64
_SIGNED = 1  # a number that 63 bits hold


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


class Extras(Sequence[Extra]):
    """The `Extra` of every node, made when asked for."""

    def __init__(self, native: _core.Trace, record: Sequence[int]) -> None:
        self._record = record
        tid = _Numbers(native, "tid")
        self._numbers = (
            _Numbers(native, "stream"),
            _Numbers(native, "thread", tid),
            _Numbers(native, "start_time_ns"),
            _Numbers(native, "duration_ns"),
        )
        self._part, self._communication = (_Texts(native, name) for name in Extra._fields[4:])

    def __len__(self) -> int:
        return len(self._record)

    def number(self, side: int, node: int) -> int | None:
        """The stream, thread, start or duration of a node, in ns."""
        return self._numbers[side].at(self._record[node])

    def __getitem__(self, node: Any) -> Any:
        if isinstance(node, slice):
            return [self[at] for at in range(*node.indices(len(self)))]
        at = self._record[node]
        stream, thread, start_ns, duration_ns = (numbers.at(at) for numbers in self._numbers)
        texts = self._part.at(at), self._communication.at(at)
        return Extra(stream, thread, start_ns, duration_ns, *texts)

    def __iter__(self) -> Iterator[Extra]:
        return (self[node] for node in range(len(self)))

    def parts(self) -> Iterator[tuple[str | None, str | None]]:
        """`part` and `communication` of every node."""
        part, communication = self._part, self._communication
        return ((part.at(at), communication.at(at)) for at in self._record)


class _Numbers:
    """An integer attribute by record, `other` where it is missing."""

    def __init__(self, native: _core.Trace, name: str, other: _Numbers | None = None) -> None:
        values, self._kinds = native.integers(name)
        self._values = array("q", values)
        self._other = other

    def at(self, record: int) -> int | None:
        kind = self._kinds[record]
        if kind == _SIGNED:
            return self._values[record]
        if kind:
            return self._values[record] + _RANGE
        return None if self._other is None else self._other.at(record)


class _Texts:
    """A text attribute by record."""

    def __init__(self, native: _core.Trace, name: str) -> None:
        texts, places = native.texts(name)
        self._texts: list[str | None] = [*texts, None]
        self._places = array("i", places)

    def at(self, record: int) -> str | None:
        return self._texts[self._places[record]]


class Columns:
    """A trace by node: node i has the i-th lowest id."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.graph = graph = trace.graph(merge_duplicates=True)
        self.count = len(graph)
        self.id = _array(graph.id)
        self.type = _array(graph.type)
        self.duration = _array(graph.duration_micros)
        self.parent_begin = _array(graph.parent_begin)
        self.parent = _array(graph.parent)
        self.child_begin = _array(graph.child_begin)
        self.child = _array(graph.child)
        self.comm_type = self.integers("comm_type")
        self.comm_size = self.integers("comm_size")
        self.tensor_size = self.integers("tensor_size")
        self.is_cpu = [bool(value) for value in self.integers("is_cpu_op")]

    def forget(self) -> None:
        """Drop the lists that are made again when asked for."""
        for name in ("record", "start", "group", "extra", "kind", "lane", "_involved"):
            self.__dict__.pop(name, None)

    def integers(self, attribute: str) -> list[int | None]:
        """Integer attribute by node: None if absent or of another type."""
        column: _core.IntColumn = getattr(self.graph, attribute)
        if not len(column.kind):
            return [None] * self.count
        return [
            (value - _RANGE if value >= _SIGN else value) if kind == _PRESENT else None
            for value, kind in zip(column.value, column.kind, strict=True)
        ]

    def parents(self, node: int) -> list[int]:
        return self.parent[self.parent_begin[node] : self.parent_begin[node + 1]].tolist()

    def children(self, node: int) -> list[int]:
        return self.child[self.child_begin[node] : self.child_begin[node + 1]].tolist()

    def name(self, node: int) -> str:
        return self.graph.name(node)

    @cached_property
    def record(self) -> array[int]:
        if len(self.trace) == self.count:
            record = array("Q", bytes(8 * self.count))
            for place, node in enumerate(self.graph.file_order):
                record[node] = place
            return record
        last = {id: place for place, id in enumerate(self.trace.native.id)}
        return array("Q", (last[id] for id in self.id))

    @cached_property
    def start(self) -> array[int]:
        starts = self.trace.native.start_micros
        return array("Q", (starts[place] for place in self.record))

    @cached_property
    def group(self) -> list[str]:
        """Each node's communicator; "0" if unnamed."""
        names = self.graph.pg_names
        return ["0" if at < 0 or names[at] in _WORLD else names[at] for at in self.graph.pg_name]

    @cached_property
    def extra(self) -> Extras:
        return Extras(self.trace.native, self.record)

    @cached_property
    def kind(self) -> list[str]:
        return [
            _kind(type, cpu, *texts)
            for type, cpu, texts in zip(self.type, self.is_cpu, self.extra.parts(), strict=True)
        ]

    @cached_property
    def lane(self) -> list[str]:
        names: dict[str, str] = {}  # few, of many nodes
        lanes = (
            _lane(kind, extra, group, cpu)
            for kind, extra, group, cpu in zip(
                self.kind, self.extra, self.group, self.is_cpu, strict=True
            )
        )
        return [names.setdefault(lane, lane) for lane in lanes]

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


def _array(view: memoryview) -> array[int]:
    made = array(view.format)
    made.frombytes(view.cast("B"))
    return made


def _kind(type: int, cpu: bool, part: str | None, communication: str | None) -> str:
    if part == "delay":
        return "delay"
    if type == NodeType.COMP:
        if communication is not None:
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
