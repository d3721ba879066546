"""All-to-all: every host sends the same to every other, all at once.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), section 3.2
(uniform traffic).
"""

from __future__ import annotations

import numpy as np

from yantra.base.fields import Section
from yantra.base.records import Record
from yantra.network.traffic.generator import SIZE, Flows, Traffic


class Options(Record):
    bytes: int


class AllToAll(Traffic):
    """A flow for every ordered pair; without randomness."""

    options = Section(Options, {"size": ("bytes", SIZE, "what each host sends to each other")})

    def expected(self, hosts: int) -> float:
        return float(hosts * (hosts - 1))

    def flows(self, hosts: int, seed: int) -> Flows:
        src = np.repeat(np.arange(hosts), hosts - 1)
        dst = (src + np.tile(np.arange(1, hosts), hosts)) % hosts
        count = len(src)
        return Flows(src, dst, np.full(count, self.given.bytes), np.zeros(count, np.int64))


PLUGIN = AllToAll
