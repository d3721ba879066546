"""The cut bound: how fast a collective can be on a fabric, whatever its schedule.

What a set of devices must let out, over the rate at which its links can, is a time that no schedule
beats; the bound is the largest over all sets. Latency is 0, and switches may store and multicast.
Where switches add, too, a byte of an all-reduce need not be sent 2 (n - 1) times by ranks, but once
each: S/B on one switch. All others are bounded by cuts alone, which do not ask who adds.
It is found by one largest flow per kind of rank and exact: rates are fractions. That of an
all-to-all is harder, and is exact for few devices only (`all_to_all.py`).

Trade-off: ranks with the same links to the same devices are looked at once, since swapping them
changes nothing. So two-level fabrics are quick; grids take one flow for every rank.

Source: ForestColl (arXiv 2402.06787), on the optimality of all-gather, for
1/x* = max |ranks in S| / exit bandwidth of S; Edmonds, "Edge-disjoint branchings" (1973), for
broadcast; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations" (2009), for the 2 (n - 1) transfers of an all-reduce.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import NamedTuple

from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.all_to_all import worst_cut
from yantra.collectives.synthesis.least_cuts import Link, gather_cut, least_cut, whole

BOUNDED = (
    Kind.ALL_GATHER,
    Kind.REDUCE_SCATTER,
    Kind.ALL_REDUCE,
    Kind.BROADCAST,
    Kind.ALL_TO_ALL,
)
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


def bound(kind: Kind, fabric: Fabric, *, switches_add: bool = False) -> Bound:
    """Return the bound of a collective of `BOUNDED`; a broadcast is from rank 0.

    An all-reduce is bounded as ranks perform it, which add what they receive, unless `switches_add`
    (as those of NVLS and SHARP do), and copy.
    """
    if kind is Kind.ALL_GATHER:
        return _all_gather(fabric)
    if kind is Kind.REDUCE_SCATTER:
        found = _all_gather(fabric.reversed())
        whole = frozenset(range(fabric.devices))
        # `data` is the input of a position, of which each owns one part of n.
        return Bound(found.ns_per_byte / fabric.ranks, whole - found.limit)
    if kind is Kind.ALL_REDUCE:
        cut = _both_ways(fabric)
        if switches_add:
            return cut
        return max(cut, _sent(fabric), key=lambda one: one.ns_per_byte)
    if kind is Kind.BROADCAST:
        return _from_rank_0(fabric)
    if kind is Kind.ALL_TO_ALL:
        return _all_to_all(fabric)
    raise ValueError(f"no bound of {kind}; expected one of {', '.join(BOUNDED)}")


def _all_gather(fabric: Fabric) -> Bound:
    scale, links = _whole(fabric)
    cut = gather_cut(fabric.ranks, fabric.devices, links, kinds_of_ranks(fabric))
    inside = sum(device < fabric.ranks for device in cut.inside)
    return Bound(scale * inside / cut.exit, cut.inside)


def _from_rank_0(fabric: Fabric) -> Bound:
    scale, links = _whole(fabric)
    cut = least_cut(fabric.devices, links, 0, kinds_of_ranks(fabric, (0,)))
    return Bound(scale / cut.exit, cut.inside)


def _all_to_all(fabric: Fabric) -> Bound:
    """Each pair across a cut has a part of n of an input to send."""
    scale, links = _whole(fabric)
    pairs, inside = worst_cut(fabric.ranks, fabric.devices, links)
    return Bound(scale * pairs / fabric.ranks, inside)


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


def _whole(fabric: Fabric) -> tuple[Fraction, list[Link]]:
    """Return links with whole rates, and how many of their units are one byte/ns."""
    scale, units = whole([rate for *_, rate in fabric.links])
    ends = ((start, end) for start, end, _ in fabric.links)
    return scale, [(*pair, unit) for pair, unit in zip(ends, units, strict=True)]


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
