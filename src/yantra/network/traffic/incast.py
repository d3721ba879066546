"""Incast: many hosts send to one at the same time, once.

Source: Chen et al., "Understanding TCP incast throughput collapse in datacenter networks", WREN
2009.
"""

from __future__ import annotations

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.network.traffic.generator import SIZE, Flows, Traffic


class Options(Record):
    bytes: int
    senders: int | None = None
    receiver: int = 0


class Incast(Traffic):
    """Senders are drawn by the seed if not all send."""

    options = Section(
        Options,
        {
            "size": ("bytes", SIZE, "what each sender sends"),
            "senders": ("senders", Whole(at_least=1), "how many hosts send; by default all others"),
            "receiver": ("receiver", Whole(at_least=0), "the host that all send to"),
        },
    )

    def refuses(self, hosts: int) -> tuple[str, str] | None:
        given = self.given
        if given.receiver >= hosts:
            return "receiver", f"expected a host from 0 to {hosts - 1}, got {given.receiver}"
        if given.senders is not None and given.senders >= hosts:
            return "senders", f"expected fewer than the {hosts} hosts, got {given.senders}"
        return None

    def expected(self, hosts: int) -> float:
        senders = self.given.senders
        return float(hosts - 1 if senders is None else senders)

    def flows(self, hosts: int, seed: int) -> Flows:
        steps = np.random.default_rng(seed).permutation(hosts - 1)[: int(self.expected(hosts))] + 1
        src = (self.given.receiver + steps) % hosts
        count = len(src)
        dst = np.full(count, self.given.receiver, np.int64)
        return Flows(src, dst, np.full(count, self.given.bytes), np.zeros(count, np.int64))


PLUGIN = Incast
