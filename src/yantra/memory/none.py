"""None: no memory beyond the device; a trace that accesses one is refused.

Right for traces without MEM_LOAD and MEM_STORE nodes.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class NoMemory(LatencyAndBandwidth):
    """No memory beyond the device."""

    native = "none"
    sharing = "rank"
    needs_bandwidth = False


PLUGIN = NoMemory
