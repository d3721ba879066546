"""Per node: the ranks of a node share a memory, which serves one access at a time.

Right for a link that a node shares; real ones serve several accesses side by side.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class PerNode(LatencyAndBandwidth):
    """The ranks of a node share a memory, which serves one access at a time."""

    native = "per_node"
    sharing = "node"


PLUGIN = PerNode
