"""The replay graph, before Chakra nodes.

A node is a stretch of a CPU thread or device stream, with an index into the linked trace.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct, field

NodeKind = Literal["operator", "slice", "wait", "delay", "device"]
# `source` of an operator (its first slice, even without time): its id; of a slice (a later one, or
# time outside operators that another lane waits for): operator id or -1; of a wait (rest of a
# blocking call after the awaited ops): index into `Linked.waits`; of a delay (unexplained lane
# time): graph id of the delayed node; of a device op: its id.

_NONE = -1
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
    """Nodes in columns, made when asked for: there are millions.

    What the linked trace has is shared with it.
    """

    def __init__(self) -> None:
        self._kinds: list[str] = []
        self._names: list[str] = []
        self._sources: list[int] = []
        self._devices: list[int] = []
        self._lanes: list[int] = []
        self._times, self._ctrl = array("q"), array("q")
        self._deps, self._ends = array("I"), array("Q", [0])
        self._more: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def add(
        self,
        kind: str,
        source: int,
        name: str,
        place: tuple[int, int],
        times: tuple[int, int, int, int],
        deps: list[int],
        ctrl: int | None,
    ) -> int:
        """Add a node and return its id. `place`: device and lane; `times`: as of `GraphNode`."""
        self._kinds.append(kind)
        self._names.append(name)
        self._sources.append(source)
        self._devices.append(place[0])
        self._lanes.append(place[1])
        self._times.extend(times)
        self._ctrl.append(_NONE if ctrl is None else ctrl)
        self._deps.extend(deps)
        self._ends.append(len(self._deps))
        return len(self._kinds) - 1

    def depend(self, id: int, on: list[int]) -> None:
        """Add dependencies to a node."""
        self._more.setdefault(id, []).extend(on)

    def count_of(self, kind: str) -> int:
        return self._kinds.count(kind)

    def __getitem__(self, id: Any) -> Any:
        if isinstance(id, slice):
            return [self[at] for at in range(*id.indices(len(self)))]
        at = range(len(self))[id]
        return next(self._made(at, at + 1))

    def __iter__(self) -> Iterator[GraphNode]:
        for begin in range(0, len(self), _BATCH):
            yield from self._made(begin, min(begin + _BATCH, len(self)))

    def _made(self, begin: int, end: int) -> Iterator[GraphNode]:
        times = self._times[4 * begin : 4 * end].tolist()
        ends = self._ends[begin : end + 1].tolist()
        first = ends[0]
        deps = self._deps[first : ends[-1]].tolist()
        rows = zip(
            range(begin, end), self._kinds[begin:end], self._sources[begin:end],
            self._names[begin:end], self._devices[begin:end], self._lanes[begin:end],
            self._ctrl[begin:end], times[::4], times[1::4], times[2::4], times[3::4],
            ends, ends[1:], strict=False,
        )  # fmt: skip
        more = self._more
        for id, kind, source, name, device, lane, ctrl, start, dur, start_ns, dur_ns, a, b in rows:
            own = deps[a - first : b - first]
            if id in more:
                own += more[id]
            yield GraphNode(
                id, kind, source, name, device, lane, start, dur, start_ns, dur_ns, own,
                None if ctrl == _NONE else ctrl,
            )  # fmt: skip


class Graph(Struct):
    """Nodes 0, 1, 2, ..., each after its dependencies."""

    nodes: Nodes
    operator_node: dict[int, int]  # operator id -> node id
    device_node: dict[int, int]  # device op id -> node id
    handovers: int = 0  # inferred edges between threads
    anchored: int = 0  # device ops given a dependency for an unexplained start
    shifted: int = 0  # nodes later than measured: their dependencies ended later
