"""Cuts of a graph: what flows at once from some ranks to the others."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations

from yantra.collectives.synthesis import least_cuts
from yantra.fabric.graphs.graph import Graph

MOST_TRIED = 10
"""The ranks of the largest graph of which every cut into halves is tried: 126 cuts."""
MOST_LINKS = 50_000
"""The links of the largest graph that one cut is computed of, in seconds."""


def least_cut(graph: Graph, ranks: Iterable[int]) -> float:
    """Return the bytes/ns from some ranks to all others."""
    columns = (graph.links.start, graph.links.end, graph.links.bytes_per_ns)
    starts, ends, rates = (column.tolist() for column in columns)
    if not rates:
        return 0.0
    scale, units = least_cuts.whole([Fraction(rate) for rate in rates])
    links = list(zip(starts, ends, units, strict=True))
    source, sink = graph.devices, graph.devices + 1
    unlimited, inside = sum(units) + 1, set(ranks)
    for rank in range(graph.ranks):
        links.append((source, rank, unlimited) if rank in inside else (rank, sink, unlimited))
    cut = least_cuts.least_cut(graph.devices + 2, links, source, [sink])
    return float(cut.exit / scale)


def bisection(graph: Graph) -> float:
    """Return the least cut into halves, trying all.

    With an odd number, one half has one more.
    """
    half = graph.ranks // 2
    others = range(1, graph.ranks)
    # Rank 0 is on one side; both directions count.
    sides = [{0, *chosen} for chosen in combinations(others, half - 1)]
    if graph.ranks % 2:
        sides += [{0, *chosen} for chosen in combinations(others, half)]
    whole = set(range(graph.ranks))
    return min(least_cut(graph, part) for side in sides for part in (side, whole - side))
