"""Pool: all ranks share one memory, which serves one access at a time.

The worst case of disaggregated memory.
"""

from __future__ import annotations

from yantra.memory.model import LatencyAndBandwidth


class Pool(LatencyAndBandwidth):
    native = "pool"
    sharing = "pool"


PLUGIN = Pool
