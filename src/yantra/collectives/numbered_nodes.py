"""Algorithms whose number is a node's consecutive ranks: `two_level8`; a fabric's nodes are
`in_network`'s.
"""

from __future__ import annotations

from math import isqrt

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind


class OfNodes(CollectiveAlgorithm):
    """An algorithm over nodes of `window` positions."""

    windowed = True
    number_is = "ranks of a node"
    without_number = "the divisor next to the square root"

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        if n > 1 and n % self.local(n):
            return f"{n} positions are no whole number of nodes of {self.local(n)}"
        return super().supports(kind, n, faithful=faithful)

    def local(self, n: int) -> int:
        return usual_local(n) if self.window is None else min(self.window, n)


def usual_local(n: int) -> int:
    return max(g for g in range(1, isqrt(n) + 1) if n % g == 0)
