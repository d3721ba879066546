"""Hypercube: ranks whose numbers differ in one bit are linked.

log2(n) hops across; messages correct the lowest differing bit first (e-cube routing).

Source: Sullivan and Bashkow, ISCA 1977.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.fabric.topologies.topology import Block, Link


class Hypercube(Block):
    """log2(n) dimensions of two ranks each."""

    symmetric = True

    def supports(self, n: int) -> str | None:
        return f"needs a power of two, got {n}" if n < 2 or n & (n - 1) else None

    def links(self, n: int) -> Iterable[Link]:
        bits = range(n.bit_length() - 1)
        return ((rank, rank ^ 1 << bit) for rank in range(n) for bit in bits)

    def next_device(self, n: int, at: int, to: int) -> int:
        wrong = at ^ to
        return at ^ wrong & -wrong


PLUGIN = Hypercube
