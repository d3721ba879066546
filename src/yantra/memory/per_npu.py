"""Per NPU: each rank has a memory of its own, in which nobody waits.

For host memory behind a link for each rank.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class PerNPU(LatencyAndBandwidth):
    """A memory for each rank."""

    native = "per_npu"
    sharing = "rank"


PLUGIN = PerNPU
