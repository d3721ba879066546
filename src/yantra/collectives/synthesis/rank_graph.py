"""A fabric as its ranks see it: links from rank to rank, some of them paths through switches,
without a slower all-gather.

Source: ForestColl (arXiv 2402.06787).
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from yantra import _core
from yantra.collectives.synthesis.bound import Fabric, kinds_of_ranks
from yantra.collectives.synthesis.least_cuts import columns, gather_cut, whole


class RankLink(NamedTuple):
    start: int
    end: int
    trees: int
    latency_ns: float


class RankGraph(NamedTuple):
    ranks: int
    links: tuple[RankLink, ...]
    trees: int
    unit: Fraction

    def ns(self, link: RankLink, size_bytes: float) -> float:
        return size_bytes / (link.trees * float(self.unit))


def rank_graph(fabric: Fabric, latencies_ns: tuple[float, ...]) -> RankGraph:
    """A fabric without its switches; `latencies_ns` are those of its links.

    Raises UnsupportedError where a switch lets out less than comes in, or more.
    """
    per_unit, units = whole([rate for *_, rate in fabric.links])
    links = [(a, b, rate) for (a, b, _), rate in zip(fabric.links, units, strict=True)]
    cut = gather_cut(fabric.ranks, fabric.devices, links, kinds_of_ranks(fabric))
    rate = Fraction(cut.exit, sum(device < fabric.ranks for device in cut.inside))
    capacities = [capacity * rate.denominator for capacity in units]
    common = math.gcd(rate.numerator, *capacities)
    trees = rate.numerator // common
    scaled = [(a, b, c // common) for (a, b, _), c in zip(links, capacities, strict=True)]
    found = _core.rank_links(
        ranks=fabric.ranks,
        devices=fabric.devices,
        trees=trees,
        **columns(scaled, fabric.ranks)._asdict(),
    )
    unit = Fraction(common, rate.denominator) / per_unit
    return RankGraph(fabric.ranks, _links(fabric, latencies_ns, found), trees, unit)


def _links(
    fabric: Fabric, latencies_ns: tuple[float, ...], found: _core.RankLinks
) -> tuple[RankLink, ...]:
    least: dict[tuple[int, int], float] = {}
    for (start, end, _), latency in zip(fabric.links, latencies_ns, strict=True):
        least[start, end] = min(latency, least.get((start, end), math.inf))
    ways, devices = list(found.first_way), list(found.first_device)
    stops = list(found.device)

    def latency_ns(way: int) -> float:
        return sum(least[pair] for pair in pairwise(stops[devices[way] : devices[way + 1]]))

    ends = zip(found.start, found.end, found.capacity, pairwise(ways), strict=True)
    return tuple(
        RankLink(start, end, capacity, max(latency_ns(way) for way in range(*of)))
        for start, end, capacity, of in ends
    )
