"""`Columns`: a trace by node, for the inspecting tools.

Numbers lie in the core's columns, which give Python's integers one by one: a list of them would
take five times as much.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple, overload

from yantra import _core
from yantra.chakra.schema import CollectiveType, NodeType, lane_of
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.surveyed import Seen, Surveyed

KINDS = ("cpu", "gpu_compute", "communication", "memory", "delay", "other")
"""Kinds of a node's time."""

STREAM, THREAD, START, DURATION = range(4)
"""Numbers of an `Extra`."""

_WORLD = ("", "0")
_PRESENT = _core.IntColumn.Kind.INTEGER.value
_RANGE = 1 << 64
_SIGNED = 1  # a number that 63 bits hold
_GROUP, _REMOTE, _THREAD, _STREAM = range(4)  # what makes a lane
_NUMBERED = {_THREAD: "cpu thread", _STREAM: "gpu stream"}
_AT_ONCE = 1 << 17  # nodes
_CPU, _GPU, _COMMUNICATION, _MEMORY, _DELAY, _OTHER = range(len(KINDS))


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


class Named(Sequence[str]):
    """Few different texts by node: places in `names`; negative ones count from its end."""

    def __init__(self, places: Sequence[int], names: Sequence[str]) -> None:
        self.places, self.names = places, names

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, node: int) -> str: ...
    @overload
    def __getitem__(self, node: slice) -> list[str]: ...
    def __getitem__(self, node: Any) -> Any:
        if isinstance(node, slice):
            return [self.names[place] for place in self.places[node]]
        return self.names[self.places[node]]

    def __iter__(self) -> Iterator[str]:
        return map(self.names.__getitem__, self.places)


class Integers(Sequence[int | None]):
    """An integer attribute by node: None if absent or of another type."""

    def __init__(self, column: _core.IntColumn, count: int) -> None:
        self.values = column.value.cast("B").cast("q")
        self.kinds = column.kind
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, node: int) -> int | None: ...
    @overload
    def __getitem__(self, node: slice) -> list[int | None]: ...
    def __getitem__(self, node: Any) -> Any:
        if isinstance(node, slice):
            return [self[at] for at in range(*node.indices(self._count))]
        if not self.kinds:
            return None
        return self.values[node] if self.kinds[node] == _PRESENT else None

    def __iter__(self) -> Iterator[int | None]:
        if not self.kinds:
            return repeat(None, self._count)
        pairs = zip(self.values, self.kinds, strict=True)
        return (value if kind == _PRESENT else None for value, kind in pairs)


class Extras(Sequence[Extra]):
    """The `Extra` of every node, made when asked for."""

    def __init__(self, native: _core.Trace | _core.Survey, record: Sequence[int]) -> None:
        self._record = record
        tid = _Numbers(native, "tid")
        self._numbers = (
            _Numbers(native, "stream"),
            _Numbers(native, "thread", tid),
            _Numbers(native, "start_time_ns"),
            _Numbers(native, "duration_ns"),
        )
        self.part, self.communication = (_Texts(native, name) for name in Extra._fields[4:])

    def __len__(self) -> int:
        return len(self._record)

    def has_number(self, side: int) -> bool:
        """Whether any node has it."""
        return self._numbers[side].is_anywhere

    def number(self, side: int, node: int) -> int | None:
        """The stream, thread, start or duration of a node, in ns."""
        return self._numbers[side].at(self._record[node])

    def numbers(self, side: int, nodes: Sequence[int]) -> list[int | None]:
        """`number` of each node."""
        return self._numbers[side].each([self._record[node] for node in nodes])

    def present(self, side: int) -> Any:
        """By node, as numpy's booleans: whether it has the number."""

        return self._numbers[side].halves(self._records(slice(None)), len(self))[1] != 0

    def halves(self, side: int, nodes: slice) -> tuple[Any, Any]:
        """By node, in arrays: the low 64 bits of the number, and 0 if it is missing, 2 if it is
        above the signed ones.
        """
        count = len(self._record[nodes])
        return self._numbers[side].halves(self._records(nodes), count)

    def __getitem__(self, node: Any) -> Any:
        if isinstance(node, slice):
            return [self[at] for at in range(*node.indices(len(self)))]
        at = self._record[node]
        stream, thread, start_ns, duration_ns = (numbers.at(at) for numbers in self._numbers)
        texts = self.part.at(at), self.communication.at(at)
        return Extra(stream, thread, start_ns, duration_ns, *texts)

    def __iter__(self) -> Iterator[Extra]:
        return (self[node] for node in range(len(self)))

    def has(self, texts: _Texts, here: slice = slice(None), wanted: str | None = None) -> Any:
        """By node, as numpy's booleans: whether it has this text, or any."""
        import numpy as np

        if not len(texts.places):
            return np.zeros(len(self._record[here]), bool)
        numbers = [at for at, text in enumerate(texts.texts) if wanted in (None, text)]
        return np.isin(np.asarray(texts.places)[self._records(here)], numbers)

    def _records(self, nodes: slice) -> Any:
        import numpy as np

        is_same = isinstance(self._record, range)
        return nodes if is_same else np.asarray(self._record[nodes], np.int64)


class _Numbers:
    """An integer attribute by record, `other` where it is missing."""

    def __init__(
        self, native: _core.Trace | _core.Survey, name: str, other: _Numbers | None = None
    ) -> None:
        values, kinds = native.integers(name)
        self._kinds = memoryview(kinds)
        self.is_anywhere = any(self._kinds)
        self._values = memoryview(values).cast("B").cast("q")
        self._other = other

    def at(self, record: int) -> int | None:
        kind = self._kinds[record] if len(self._kinds) else 0
        if kind == _SIGNED:
            return self._values[record]
        if kind:
            return self._values[record] + _RANGE
        return None if self._other is None else self._other.at(record)

    def each(self, records: Sequence[int]) -> list[int | None]:
        import numpy as np

        values, kinds = self.halves(np.asarray(records, np.int64), len(records))
        if (kinds == _SIGNED).all():
            found: list[int | None] = values.tolist()
            return found
        return [self.at(record) for record in records]

    def halves(self, records: Any, count: int) -> tuple[Any, Any]:
        import numpy as np

        if self._other is None:
            values, kinds = np.zeros(count, np.int64), np.zeros(count, np.uint8)
        else:
            values, kinds = self._other.halves(records, count)
        if len(self._kinds):
            own = np.asarray(self._kinds)[records]
            values = np.where(own != 0, np.asarray(self._values)[records], values)
            kinds = np.where(own != 0, own, kinds)
        return values, kinds


class _Texts:
    """A text attribute by record, as places in `texts`; none of any where these are missing."""

    def __init__(self, native: _core.Trace | _core.Survey, name: str) -> None:
        self.texts, places = native.texts(name)
        self.places = memoryview(places).cast("B").cast("i")

    def at(self, record: int) -> str | None:
        place = self.places[record] if len(self.places) else -1
        return None if place < 0 else self.texts[place]


class Columns:
    """A trace by node: node i has the i-th lowest id."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.native: _core.Trace | _core.Survey = seen.native
        self.graph = graph = seen.graph(merge_duplicates=True)
        self.count = len(graph)
        self.id = graph.id
        self.type = graph.type
        self.duration = graph.duration_micros
        self.parent_begin = graph.parent_begin
        self.parent = graph.parent
        self.child_begin = graph.child_begin
        self.child = graph.child
        self.comm_type = self.integers("comm_type")
        self.comm_size = self.integers("comm_size")
        self.tensor_size = self.integers("tensor_size")

    @property
    def trace(self) -> Trace:
        """All of the trace, where it was read whole."""
        assert isinstance(self.seen, Trace)
        return self.seen

    def forget(self) -> None:
        """Drop the lists that are made again when asked for."""
        for name in ("record", "start", "group", "extra", "kind", "lane", "is_cpu", "_involved"):
            self.__dict__.pop(name, None)

    def integers(self, attribute: str) -> Integers:
        """Integer attribute by node: None if absent or of another type."""
        return Integers(getattr(self.graph, attribute), self.count)

    @cached_property
    def is_cpu(self) -> bytes:
        """Of every node 1, if it says that it runs on the CPU, else 0."""
        import numpy as np

        said = self.integers("is_cpu_op")
        if not said.kinds:
            return bytes(self.count)
        on_cpu = (np.asarray(said.kinds) == _PRESENT) & (np.asarray(said.values) != 0)
        return bytes(on_cpu.tobytes())

    def parents(self, node: int) -> list[int]:
        return self.parent[self.parent_begin[node] : self.parent_begin[node + 1]].tolist()

    def children(self, node: int) -> list[int]:
        return self.child[self.child_begin[node] : self.child_begin[node + 1]].tolist()

    def name(self, node: int) -> str:
        return self.graph.name(node)

    @cached_property
    def record(self) -> Sequence[int]:
        if isinstance(self.seen, Surveyed):
            return range(self.count)
        if len(self.seen) == self.count:
            record = array("Q", bytes(8 * self.count))
            for place, node in enumerate(self.graph.file_order):
                record[node] = place
            return record
        last = {id: place for place, id in enumerate(self.seen.native.id)}
        return array("Q", (last[id] for id in self.id))

    @cached_property
    def start(self) -> Sequence[int]:
        starts = self.native.start_micros
        if isinstance(self.seen, Surveyed):
            return starts
        return array("Q", (starts[place] for place in self.record))

    @cached_property
    def group(self) -> Named:
        """Each node's communicator; "0" if unnamed."""
        names = ["0" if name in _WORLD else name for name in self.graph.pg_names]
        return Named(self.graph.pg_name, [*names, "0", "0"])

    @cached_property
    def extra(self) -> Extras:
        return Extras(self.native, self.record)

    @cached_property
    def kind(self) -> Named:
        """Each node's kind, by place in `KINDS`."""
        import numpy as np

        extra = self.extra
        type, on_cpu = np.asarray(self.type), np.frombuffer(self.is_cpu, np.uint8)
        kinds = np.full(self.count, _OTHER, np.uint8)
        for number in np.unique(type).tolist():
            if (lane := lane_of(number)) is not None:
                kinds[type == number] = _MEMORY if lane == "memory" else _COMMUNICATION
        computes = type == NodeType.COMP
        kinds[computes] = np.where(on_cpu[computes], _CPU, _GPU)
        kinds[computes & extra.has(extra.communication)] = _COMMUNICATION
        kinds[extra.has(extra.part, wanted="delay")] = _DELAY
        return Named(kinds.data, KINDS)

    @cached_property
    def lane(self) -> Named:
        import numpy as np

        known: dict[tuple[int, int, int], int] = {}
        places = np.empty(self.count, np.uint32)
        for begin in range(0, self.count, _AT_ONCE):
            here = slice(begin, begin + _AT_ONCE)
            rows = np.stack(self._lane_parts(here), axis=1)
            found, which = np.unique(rows, axis=0, return_inverse=True)
            numbers = [known.setdefault(tuple(row), len(known)) for row in found.tolist()]
            places[here] = np.array(numbers, np.uint32)[which.ravel()]
        return Named(places.data, [self._lane_name(*key) for key in known])

    def _lane_parts(self, here: slice) -> tuple[Any, Any, Any]:
        """What makes a lane, its number, and whether that is above the signed ones."""
        import numpy as np

        extra = self.extra
        kinds = np.asarray(self.kind.places)[here]
        on_cpu = np.frombuffer(self.is_cpu, np.uint8)[here] != 0
        in_group = (kinds == _COMMUNICATION) & ~extra.has(extra.communication, here)
        in_memory = kinds == _MEMORY
        of_thread = (on_cpu | (kinds == _OTHER)) & ~in_group & ~in_memory
        choice = np.select([in_group, in_memory, of_thread], [_GROUP, _REMOTE, _THREAD], _STREAM)
        numbers, above = extra.halves(STREAM, here)
        threads, above_threads = extra.halves(THREAD, here)
        groups = np.asarray(self.graph.pg_name)[here].astype(np.int64)
        number = np.select([in_group, in_memory, of_thread], [groups, 0 * groups, threads], numbers)
        is_above = (
            np.select([in_group | in_memory, of_thread], [np.uint8(0), above_threads], above)
            > _SIGNED
        )
        return choice, number, is_above.astype(np.int64)

    def _lane_name(self, what: int, number: int, above: int) -> str:
        if what == _GROUP:
            return f"group {self.group.names[number]}"
        if what == _REMOTE:
            return "memory"
        return f"{_NUMBERED[what]} {number + above * _RANGE}"

    @cached_property
    def _involved(self) -> tuple[memoryview, memoryview]:
        return self.graph.involved_mask, self.graph.involved_len

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
