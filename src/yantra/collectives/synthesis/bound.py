"""The cut bound: how fast a collective can be on a fabric, whatever its schedule.

What a set of devices must let out, over the rate at which its links can, is a time that no schedule
beats; the bound is the largest over all sets. Latency is 0, and switches may store and multicast.
It is found by one largest flow per kind of rank and exact: rates are fractions.

Trade-off: ranks with the same links to the same devices are looked at once, since swapping them
changes nothing. So two-level fabrics are quick; grids take one flow for every rank.

Source: ForestColl (arXiv 2402.06787), on the optimality of all-gather, for
1/x* = max |ranks in S| / exit bandwidth of S; Edmonds, "Edge-disjoint branchings" (1973), for
broadcast; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations" (2009), for the 2 (n - 1) transfers of an all-reduce.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.max_flow import FlowNetwork

BOUNDED = (Kind.ALL_GATHER, Kind.REDUCE_SCATTER, Kind.ALL_REDUCE, Kind.BROADCAST)
"""The collectives that have a bound."""


class Fabric(NamedTuple):
    """Devices and directed links (from, to, bytes/ns); devices 0 to ranks - 1 are the ranks.

    There are at least two ranks, and each reaches each other.
    """

    ranks: int
    devices: int
    links: tuple[tuple[int, int, Fraction], ...]

    def reversed(self) -> Fabric:
        """Return the fabric with every link turned round."""
        links = tuple((end, start, rate) for start, end, rate in self.links)
        return self._replace(links=links)


class Bound(NamedTuple):
    """The least ns per byte of `data` (as `schedule` defines it), and a set that it is due to.

    `limit` are the devices that cannot let out more; it is empty where what all ranks can send
    together is the limit.
    """

    ns_per_byte: Fraction
    limit: frozenset[int]


def bound(kind: Kind, fabric: Fabric) -> Bound:
    """Return the bound of a collective of `BOUNDED`; a broadcast is from rank 0.

    An all-reduce is bounded as ranks perform it: switches neither reduce nor multicast.
    """
    if kind is Kind.ALL_GATHER:
        return _all_gather(fabric)
    if kind is Kind.REDUCE_SCATTER:
        found = _all_gather(fabric.reversed())
        whole = frozenset(range(fabric.devices))
        # `data` is the input of a position, of which each owns one part of n.
        return Bound(found.ns_per_byte / fabric.ranks, whole - found.limit)
    if kind is Kind.ALL_REDUCE:
        return max(_both_ways(fabric), _sent(fabric), key=lambda one: one.ns_per_byte)
    if kind is Kind.BROADCAST:
        return _from_rank_0(fabric)
    raise ValueError(f"no bound of {kind}; expected one of {', '.join(BOUNDED)}")


def _all_gather(fabric: Fabric) -> Bound:
    """Newton's steps: a set that breaks the rate gives the next, until none breaks it."""
    scale, links = _whole(fabric)
    total = sum(rate for *_, rate in links)
    rate, limit = Fraction(total + 1), frozenset[int]()
    source = fabric.devices
    for sink in kinds_of_ranks(fabric):
        while True:
            up, down = rate.as_integer_ratio()
            arcs = [(start, end, each * down) for start, end, each in links]
            arcs += [(source, rank, up) for rank in range(fabric.ranks)]
            flow, side = FlowNetwork(fabric.devices + 1, arcs).least_cut(source, sink)
            if flow == up * fabric.ranks:
                break
            limit = side - {source}
            inside = sum(device < fabric.ranks for device in limit)
            rate = Fraction(_exit(links, limit), inside)
    return Bound(scale / rate, limit)


def _from_rank_0(fabric: Fabric) -> Bound:
    scale, links = _whole(fabric)
    network = FlowNetwork(fabric.devices, links)
    flow, side = min(
        (network.least_cut(0, sink) for sink in kinds_of_ranks(fabric, (0,))),
        key=lambda cut: cut[0],
    )
    return Bound(scale / flow, side)


def _both_ways(fabric: Fabric) -> Bound:
    """Each set with ranks inside and outside lets out the sum of what is inside at least once."""
    out, back = _from_rank_0(fabric), _from_rank_0(fabric.reversed())
    whole = frozenset(range(fabric.devices))
    back = back._replace(limit=whole - back.limit)
    return max(out, back, key=lambda one: one.ns_per_byte)


def _sent(fabric: Fabric) -> Bound:
    """Each byte is sent 2 (n - 1) times by ranks, which have so much bandwidth together."""
    rate = sum((each for start, _, each in fabric.links if start < fabric.ranks), Fraction(0))
    return Bound(2 * (fabric.ranks - 1) / rate, frozenset())


def _whole(fabric: Fabric) -> tuple[Fraction, list[tuple[int, int, int]]]:
    """Return links with whole rates, and how many of their units are one byte/ns."""
    below = math.lcm(*(rate.denominator for *_, rate in fabric.links))
    units = [int(rate * below) for *_, rate in fabric.links]
    common = math.gcd(*units)
    ends = ((start, end) for start, end, _ in fabric.links)
    whole = [(*pair, unit // common) for pair, unit in zip(ends, units, strict=True)]
    return Fraction(below, common), whole


def _exit(links: Iterable[tuple[int, int, int]], inside: frozenset[int]) -> int:
    return sum(rate for start, end, rate in links if start in inside and end not in inside)


def kinds_of_ranks(fabric: Fabric, without: tuple[int, ...] = ()) -> list[int]:
    """Return one rank of each set of ranks that can be swapped, of those not left out."""
    links: list[dict[tuple[bool, int], Fraction]] = [
        defaultdict(Fraction) for _ in range(fabric.ranks)
    ]
    for start, end, rate in fabric.links:
        if start < fabric.ranks:
            links[start][True, end] += rate
        if end < fabric.ranks:
            links[end][False, start] += rate
    ranks = (rank for rank in range(fabric.ranks - 1, -1, -1) if rank not in without)
    return list({frozenset(links[rank].items()): rank for rank in ranks}.values())
