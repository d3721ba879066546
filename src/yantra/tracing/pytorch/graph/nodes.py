"""The replay graph: what `build` makes of a linked trace, before it becomes Chakra nodes.

Every node is a stretch of one lane: a CPU thread or a device stream. Nodes carry where they come
from (an index into the linked trace) and nothing that the linked trace has already.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

NodeKind = Literal["operator", "slice", "wait", "delay", "device"]
# operator: the first slice of an operator, one per operator of the linked trace, also of those
#           without a time (zero duration);  `source` is the operator's id.
# slice:    a later slice of an operator, or time of a thread outside any operator that another
#           lane waits for; `source` is the operator's id, -1 outside any.
# wait:     what is left of a blocking call once the awaited device ops have ended; `source` is the
#           index into `Linked.waits`.
# delay:    time of a lane that no recorded cause explains; `source` is the id (in this graph) of
#           the node it delays.
# device:   a kernel, copy or fill; `source` is the device op's id.


class GraphNode(Struct, gc=False):
    """One node of the replay graph.

    `lane` is the thread (tid) of a CPU node and the stream of a device node; `device` is -1 on the
    CPU. `start_us` and `dur_us` are on the grid of whole microseconds after the trace's origin;
    `start_ns` and `dur_ns` are as measured. `deps` are ids of nodes that must have ended before;
    every one is smaller than `id`. `ctrl` is the node of the enclosing operator, None at the root.
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
        """Whether it occupies a CPU thread and not a device stream."""
        return self.device < 0

    @property
    def end_us(self) -> int:
        """When it ends, in microseconds after the origin."""
        return self.start_us + self.dur_us


class GraphOptions(Struct, frozen=True, kw_only=True):
    """How to build the graph.

    `gaps`: write delay nodes for the time that no dependency explains. `handover`: let a thread
    that was idle while another worked wait for that thread. `anchors`: let a device op that
    started more than 20 us after all that it is known to wait for wait for the op of the device
    that had ended last.
    """

    gaps: bool = True
    handover: bool = True
    anchors: bool = True


class Graph(Struct):
    """Nodes with ids 0, 1, 2, ... in an order in which every node follows what it depends on."""

    nodes: list[GraphNode]
    operator_node: dict[int, int]  # operator id -> node id
    device_node: dict[int, int]  # device op id -> node id
    handovers: int = 0  # edges between threads inferred from idleness
    anchored: int = 0  # device ops that got a dependency because their start was unexplained
    shifted: int = 0  # nodes that start later than measured: what they wait for ended later
