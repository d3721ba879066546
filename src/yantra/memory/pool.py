"""Pool: all ranks share one memory, which serves one access at a time.

The lower end of what disaggregated memory does.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class Pool(LatencyAndBandwidth):
    """All ranks share one memory, which serves one access at a time."""

    native = "pool"
    sharing = "pool"


PLUGIN = Pool
