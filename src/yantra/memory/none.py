"""None: no memory beyond the device; a trace that accesses one is refused."""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class NoMemory(LatencyAndBandwidth):
    native = "none"
    sharing = "rank"
    needs_bandwidth = False


PLUGIN = NoMemory
