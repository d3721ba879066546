"""Links between ranks, on shortest ways by hops;

64 sources at a time are bits of a number per device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.fabric.graphs.graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_WORK = 2_000_000_000  # links looked at, about ten seconds


class Distances(NamedTuple):
    """The most links between two ranks, and the mean over ordered pairs."""

    most: int
    mean: float


def distances(graph: Graph) -> Distances | None:
    """Return the distances between all ranks; None if that takes too long.

    All ranks must reach each other.
    """
    batches = -(-graph.ranks // 64)
    rounds = _MOST_WORK // max(len(graph.links.start), 1)
    order = np.argsort(graph.links.end, kind="stable")
    start, end = graph.links.start[order], graph.links.end[order]
    first = np.flatnonzero(np.diff(end, prepend=end[:1] + np.uint32(1)))
    most, total = 0, 0
    for low in range(0, graph.ranks, 64):
        farthest, hops = _from(graph, start, end[first], first, low)
        most, total = max(most, farthest), total + hops
        if farthest * batches > rounds:  # the first ranks are typical
            return None
    return Distances(most, total / max(graph.ranks * (graph.ranks - 1), 1))


def _from(
    graph: Graph,
    start: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    first: NDArray[np.intp],
    low: int,
) -> tuple[int, int]:
    sources = np.arange(low, min(low + 64, graph.ranks))
    newest = np.zeros(graph.devices, np.uint64)
    newest[sources] = np.uint64(1) << (sources - low).astype(np.uint64)
    known = newest.copy()
    hops = total = farthest = 0
    while newest.any():
        hops += 1
        reached = np.zeros_like(known)
        reached[targets] = np.bitwise_or.reduceat(newest[start], first)
        newest = reached & ~known
        known |= newest
        found = int(np.bitwise_count(newest[: graph.ranks]).sum())
        if found:
            farthest, total = hops, total + hops * found
    return farthest, total
