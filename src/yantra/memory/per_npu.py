"""Per NPU: each rank has a memory of its own, in which nobody waits.

Right for host memory behind a link of its own.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class PerNPU(LatencyAndBandwidth):
    """Each rank has a memory of its own, in which nobody waits."""

    native = "per_npu"
    sharing = "rank"


PLUGIN = PerNPU
