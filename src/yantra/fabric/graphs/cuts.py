"""Cuts of a graph: what can flow at once from one set of ranks to the others.

The largest flow equals the smallest cut, which is found by Dinic's algorithm. Bytes per ns, one
way. A bisection is the least over all halves, too many to try but for few ranks.

Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
estimation", Soviet Mathematics Doklady 11 (1970).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

from yantra.fabric.graphs.graph import Graph

MOST_TRIED = 10
"""The ranks of the largest graph of which every cut into halves is tried: 126 cuts."""
MOST_LINKS = 50_000
"""The links of the largest graph that one cut is computed of, in seconds."""

_NOTHING = 1e-12  # what is left of a capacity by rounding, as a share of the largest


class _Arcs(NamedTuple):
    """Arcs in pairs: arc a and a ^ 1 are each other's way back; `free` is what still fits."""

    end: list[int]
    free: list[float]
    leaving: list[list[int]]


def least_cut(graph: Graph, ranks: Iterable[int]) -> float:
    """Return the bytes/ns that can flow at once from some ranks to all others."""
    arcs, source, sink = _network(graph, set(ranks))
    floor = _NOTHING * max(graph.links.bytes_per_ns, default=0.0)
    flow = 0.0
    while True:
        levels = _levels(arcs, source, floor)
        if levels[sink] < 0:
            return flow
        begun = [0] * len(levels)
        while (more := _push(arcs, levels, begun, source, sink, floor)) > 0:
            flow += more


def bisection(graph: Graph) -> float:
    """Return the least cut into halves of the ranks; all are tried, so there must be few.

    Of an odd number of ranks one half has one more.
    """
    half = graph.ranks // 2
    others = range(1, graph.ranks)
    # Rank 0 is on one side; capacities may differ by direction, so both are looked at.
    sides = [{0, *chosen} for chosen in combinations(others, half - 1)]
    if graph.ranks % 2:
        sides += [{0, *chosen} for chosen in combinations(others, half)]
    whole = set(range(graph.ranks))
    return min(least_cut(graph, part) for side in sides for part in (side, whole - side))


def _network(graph: Graph, ranks: set[int]) -> tuple[_Arcs, int, int]:
    source, sink = graph.devices, graph.devices + 1
    arcs = _Arcs([], [], [[] for _ in range(graph.devices + 2)])

    def add(start: int, end: int, free: float) -> None:
        for one, other, room in ((start, end, free), (end, start, 0.0)):
            arcs.leaving[one].append(len(arcs.end))
            arcs.end.append(other)
            arcs.free.append(room)

    columns = (graph.links.start, graph.links.end, graph.links.bytes_per_ns)
    for start, end, rate in zip(*(column.tolist() for column in columns), strict=True):
        add(start, end, rate)
    for rank in range(graph.ranks):
        if rank in ranks:
            add(source, rank, float("inf"))
        else:
            add(rank, sink, float("inf"))
    return arcs, source, sink


def _levels(arcs: _Arcs, source: int, floor: float) -> list[int]:
    """Return how far each device is from the source over arcs with room; -1 if it is cut off."""
    levels = [-1] * len(arcs.leaving)
    levels[source] = 0
    waiting = deque([source])
    while waiting:
        at = waiting.popleft()
        for arc in arcs.leaving[at]:
            end = arcs.end[arc]
            if levels[end] < 0 and arcs.free[arc] > floor:
                levels[end] = levels[at] + 1
                waiting.append(end)
    return levels


def _push(
    arcs: _Arcs, levels: list[int], begun: list[int], source: int, sink: int, floor: float
) -> float:
    """Send along one way that climbs the levels; return how much, 0 if there is none left."""
    way: list[int] = []
    at = source
    while at != sink:
        if begun[at] == len(arcs.leaving[at]):
            if not way:
                return 0.0
            at = arcs.end[way.pop() ^ 1]
            begun[at] += 1
            continue
        arc = arcs.leaving[at][begun[at]]
        end = arcs.end[arc]
        if arcs.free[arc] > floor and levels[end] == levels[at] + 1:
            way.append(arc)
            at = end
        else:
            begun[at] += 1
    more = min(arcs.free[arc] for arc in way)
    for arc in way:
        arcs.free[arc] -= more
        arcs.free[arc ^ 1] += more
    return more
