"""Permutation: every host sends to one other, and every host receives from one other, at once.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), section
3.2.
"""

from __future__ import annotations

import numpy as np

from yantra.base.fields import Section
from yantra.base.records import Record
from yantra.network.traffic.generator import SIZE, Flows, Traffic


class Options(Record):
    bytes: int


class Permutation(Traffic):
    """A random circle of hosts, each sending to the next."""

    options = Section(Options, {"size": ("bytes", SIZE, "what each host sends")})

    def expected(self, hosts: int) -> float:
        return float(hosts)

    def flows(self, hosts: int, seed: int) -> Flows:
        circle = np.random.default_rng(seed).permutation(hosts)
        size = np.full(hosts, self.given.bytes)
        return Flows(circle, np.roll(circle, -1), size, np.zeros(hosts, np.int64))


PLUGIN = Permutation
