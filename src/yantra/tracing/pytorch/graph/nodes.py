"""The replay graph, before Chakra nodes.

A node is a stretch of a CPU thread or device stream, with an index into the linked trace.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

NodeKind = Literal["operator", "slice", "wait", "delay", "device"]
# `source` of an operator (its first slice, even without time): its id; of a slice (a later one, or
# time outside operators that another lane waits for): operator id or -1; of a wait (rest of a
# blocking call after the awaited ops): index into `Linked.waits`; of a delay (unexplained lane
# time): graph id of the delayed node; of a device op: its id.


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


class Graph(Struct):
    """Nodes 0, 1, 2, ..., each after its dependencies."""

    nodes: list[GraphNode]
    operator_node: dict[int, int]  # operator id -> node id
    device_node: dict[int, int]  # device op id -> node id
    handovers: int = 0  # inferred edges between threads
    anchored: int = 0  # device ops given a dependency for an unexplained start
    shifted: int = 0  # nodes later than measured: their dependencies ended later
