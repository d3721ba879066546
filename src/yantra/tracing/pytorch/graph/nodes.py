"""The replay graph, before Chakra nodes.

A node is a stretch of a CPU thread or device stream, with an index into the linked trace. The core
has them in columns, as there are millions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field

from yantra import _core
from yantra.tracing.pytorch.linked_columns import NONE

NodeKind = Literal["operator", "slice", "wait", "delay", "device"]
# `source` of an operator (its first slice, even without time): its id; of a slice (a later one, or
# time outside operators that another lane waits for): operator id or -1; of a wait (rest of a
# blocking call after the awaited ops): index into `Linked.waits`; of a delay (unexplained lane
# time): graph id of the delayed node; of a device op: its id.
KINDS: tuple[NodeKind, ...] = ("operator", "slice", "wait", "delay", "device")
_BATCH = 4096  # nodes


class GraphNode(Struct, gc=False):
    """A node of the replay graph.

    `lane`: thread (tid) or stream; `device`: -1 on the CPU. `start_us`, `dur_us`: whole us after
    the trace's origin; `start_ns`, `dur_ns`: as measured. `deps`: ids that must have ended, all
    below `id`. `ctrl`: the enclosing operator's node or None.
    """

    id: int
    kind: str  # a NodeKind
    source: int
    name: str
    device: int
    lane: int
    start_us: int
    dur_us: int
    start_ns: int
    dur_ns: int
    deps: list[int] = field(default_factory=list)
    ctrl: int | None = None

    @property
    def is_cpu(self) -> bool:
        return self.device < 0

    @property
    def end_us(self) -> int:
        return self.start_us + self.dur_us


class GraphOptions(Struct, frozen=True, kw_only=True):
    """`gaps`: delay nodes for unexplained time. `handover`: a thread idle while another worked
    waits for it. `anchors`: a device op that started over 20 us after all it is known to wait for
    also waits for the device's last ended op.
    """

    gaps: bool = True
    handover: bool = True
    anchors: bool = True


class Nodes(Sequence[GraphNode]):
    """Nodes, made when asked for. `ids`: of operators and of device ops, by place."""

    def __init__(
        self, core: _core.ReplayNodes, names: list[str], ids: tuple[Sequence[int], Sequence[int]]
    ) -> None:
        self.core = core
        self._names = names
        operators, ops = ids
        self._ids = {"operator": operators, "slice": operators, "device": ops}

    def __len__(self) -> int:
        return len(self.core)

    def count_of(self, kind: NodeKind) -> int:
        return bytes(self.core.kind).count(KINDS.index(kind))

    def found(self, kind: NodeKind, nodes: memoryview) -> dict[int, int]:
        return dict(zip(self._ids[kind], nodes.tolist(), strict=True))

    def __getitem__(self, id: Any) -> Any:
        if isinstance(id, slice):
            return [self[at] for at in range(*id.indices(len(self)))]
        at = range(len(self))[id]
        return next(self._made(at, at + 1))

    def __iter__(self) -> Iterator[GraphNode]:
        for begin in range(0, len(self), _BATCH):
            yield from self._made(begin, min(begin + _BATCH, len(self)))

    def _made(self, begin: int, end: int) -> Iterator[GraphNode]:
        core = self.core
        devices, lanes = core.place_device.tolist(), core.place_lane.tolist()
        columns = (
            core.kind, core.source, core.name, core.place,
            core.start_us, core.dur_us, core.start_ns, core.dur_ns, core.ctrl,
        )  # fmt: skip
        rows = zip(*(column[begin:end].tolist() for column in columns), strict=True)
        for id, (number, at, name, place, start, dur, start_ns, dur_ns, ctrl) in enumerate(
            rows, start=begin
        ):
            kind = KINDS[number]
            source = at if kind not in self._ids else -1 if at == NONE else self._ids[kind][at]
            yield GraphNode(
                id, kind, source, self._names[name], devices[place], lanes[place],
                start, dur, start_ns, dur_ns, core.deps(id), None if ctrl == NONE else ctrl,
            )  # fmt: skip


class Columns(Struct):
    """What the core reads of a linked trace. `names` are in order; ids by place."""

    arrays: dict[str, Any]
    names: list[str]
    operator_ids: Sequence[int]
    op_ids: Sequence[int]


class Graph:
    """Nodes 0, 1, 2, ..., each after its dependencies."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.handovers = nodes.core.handovers  # inferred edges between threads
        self.anchored = nodes.core.anchored  # device ops given a dependency for a late start
        self.shifted = nodes.core.shifted  # nodes later than measured: they waited longer

    @cached_property
    def operator_node(self) -> dict[int, int]:
        """From an operator's id to its first node."""
        return self.nodes.found("operator", self.nodes.core.operator_node)

    @cached_property
    def device_node(self) -> dict[int, int]:
        """From a device op's id to its node."""
        return self.nodes.found("device", self.nodes.core.device_node)
