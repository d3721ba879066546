"""Per NPU: each rank has a memory of its own, in which nobody waits."""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class PerNPU(LatencyAndBandwidth):
    native = "per_npu"
    sharing = "rank"


PLUGIN = PerNPU
