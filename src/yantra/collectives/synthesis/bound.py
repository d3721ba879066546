"""The cut bound: how fast a collective can be on a fabric, whatever its schedule.

What a set of devices must let out over its links' rate; the largest over all sets. Latency is 0,
and switches may store and multicast. Exact, by one largest flow per kind of rank in fractions;
all-to-alls only for few devices (`all_to_all.py`).

Source: ForestColl (arXiv 2402.06787), all-gather: 1/x* = max |ranks in S| / exit bandwidth of S;
Edmonds, "Edge-disjoint branchings" (1973), broadcast; Patarasuk and Yuan, "Bandwidth optimal
all-reduce algorithms for clusters of workstations" (2009), the 2 (n - 1) transfers of an
all-reduce.
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


class Fabric(NamedTuple):
    """Devices and directed links (from, to, bytes/ns); the first `ranks`, two or more, are ranks
    that reach each other.
    """

    ranks: int
    devices: int
    links: tuple[tuple[int, int, Fraction], ...]

    def reversed(self) -> Fabric:
        links = tuple((end, start, rate) for start, end, rate in self.links)
        return self._replace(links=links)


class Bound(NamedTuple):
    """The least ns per byte of `data` (as in `schedule`), and the devices that limit it; none if
    all ranks' bandwidth does.
    """

    ns_per_byte: Fraction
    limit: frozenset[int]


def bound(kind: Kind, fabric: Fabric, *, switches_add: bool = False) -> Bound:
    """The bound of a collective of `BOUNDED`; a broadcast is from rank 0.

    Ranks add in an all-reduce, unless switches add and copy (`switches_add`: NVLS, SHARP).
    """
    if kind is Kind.ALL_GATHER:
        return _all_gather(fabric)
    if kind is Kind.REDUCE_SCATTER:
        found = _all_gather(fabric.reversed())
        whole = frozenset(range(fabric.devices))
        # `data` is the input of a position; each owns one part of n.
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
    scale, links = _whole(fabric)
    pairs, inside = worst_cut(fabric.ranks, fabric.devices, links)
    return Bound(scale * pairs / fabric.ranks, inside)


def _both_ways(fabric: Fabric) -> Bound:
    out, back = _from_rank_0(fabric), _from_rank_0(fabric.reversed())
    whole = frozenset(range(fabric.devices))
    back = back._replace(limit=whole - back.limit)
    return max(out, back, key=lambda one: one.ns_per_byte)


def _sent(fabric: Fabric) -> Bound:
    rate = sum((each for start, _, each in fabric.links if start < fabric.ranks), Fraction(0))
    return Bound(2 * (fabric.ranks - 1) / rate, frozenset())


def _whole(fabric: Fabric) -> tuple[Fraction, list[Link]]:
    scale, units = whole([rate for *_, rate in fabric.links])
    ends = ((start, end) for start, end, _ in fabric.links)
    return scale, [(*pair, unit) for pair, unit in zip(ends, units, strict=True)]


def kinds_of_ranks(fabric: Fabric, without: tuple[int, ...] = ()) -> list[int]:
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
