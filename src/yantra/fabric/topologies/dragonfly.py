"""Dragonfly: fully connected groups of routers, and one link between any two groups.

At most three hops between routers at any scale with few long links, at the price of one link that
all messages between two groups share. It is balanced: a router has h ranks and at most h long
links, a group 2 h routers, and there are at most 2 h h + 1 groups. `dragonfly2` has h = 2.

Source: Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
2008; which router has which long link (relative arrangement): Hastings et al., "Comparing global
link arrangements for dragonfly networks", CLUSTER 2015.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from math import isqrt

from yantra.fabric.topologies.geometry import both_ways
from yantra.fabric.topologies.topology import Block, Link


class Dragonfly(Block):
    """Router r is device n + r, with ranks from r * h on; h defaults to the least."""

    symmetric = True
    number_means = "ranks per router"

    def supports(self, n: int) -> str | None:
        h = self.number
        if h is None and _least(n) is None:
            return (
                "needs 2 to 2 h h + 1 groups of 2 h h ranks each for some h, "
                f"as 6 = 3 x 2 or 64 = 8 x 8, got {n}"
            )
        if h is not None and not _fits(n, h):
            return f"needs 2 to {2 * h * h + 1} groups of {2 * h * h} ranks each, got {n}"
        return None

    def switches(self, n: int) -> int:
        return n // self._h(n)

    def links(self, n: int) -> Iterable[Link]:
        return both_ways(self._pairs(n))

    def next_device(self, n: int, at: int, to: int) -> int:
        h = self._h(n)
        if at < n:
            return n + at // h
        last = n + to // h
        if at == last:
            return to
        here, there = (at - n) // (2 * h), (last - n) // (2 * h)
        if here == there:
            return last
        way_out = self._router(n, here, there)
        return self._router(n, there, here) if at == way_out else way_out

    def _pairs(self, n: int) -> Iterator[Link]:
        h = self._h(n)
        for rank in range(n):
            yield rank, n + rank // h
        groups = n // (2 * h * h)
        for group in range(groups):
            first = n + group * 2 * h
            yield from combinations(range(first, first + 2 * h), 2)
        for one, other in combinations(range(groups), 2):
            yield self._router(n, one, other), self._router(n, other, one)

    def _router(self, n: int, group: int, towards: int) -> int:
        h = self._h(n)
        distance = (towards - group) % (n // (2 * h * h))
        return n + group * 2 * h + (distance - 1) // h

    def _h(self, n: int) -> int:
        return self.number or _least(n) or 1


@cache
def _least(n: int) -> int | None:
    return next((h for h in range(1, isqrt(n) + 1) if _fits(n, h)), None)


def _fits(n: int, h: int) -> bool:
    groups, rest = divmod(n, 2 * h * h)
    return rest == 0 and 2 <= groups <= 2 * h * h + 1


PLUGIN = Dragonfly
