"""Per node: the ranks of a node share a memory, which serves one access at a time.

For a link that a node shares; real ones serve accesses concurrently.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class PerNode(LatencyAndBandwidth):
    """One memory for the ranks of a node."""

    native = "per_node"
    sharing = "node"


PLUGIN = PerNode
