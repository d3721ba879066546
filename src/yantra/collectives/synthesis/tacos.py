"""TACOS: an all-gather in which every free link sends what its end lacks.

Trade-off: good for few chunks and uneven latencies; work grows with ranks squared.

Source: Won et al., "TACOS", MICRO 2024.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yantra import _core
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.rank_graph import RankGraph
from yantra.collectives.synthesis.transfers import Plan, Transfers

_TICKS_PER_NS = 1000


def gather(
    graph: RankGraph,
    shard_bytes: float,
    chunks: int = 1,
    tries: int = 20,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """The all-gather of a shard from each rank, cut into `chunks`.

    Half of the tries prefer chunks that few ranks have.
    """
    size = shard_bytes / chunks
    duration = [
        max(1, round((link.latency_ns + graph.ns(link, size)) * _TICKS_PER_NS))
        for link in graph.links
    ]
    given: dict[str, Any] = {
        "ranks": graph.ranks,
        "start": np.array([link.start for link in graph.links], np.uint32),
        "end": np.array([link.end for link in graph.links], np.uint32),
        "duration": np.array(duration, np.int64),
        "owners": [rank for rank in range(graph.ranks) for _ in range(chunks)],
    }
    best: _core.Transfers | None = None
    least = 0
    for number in range(tries):
        found = _core.spread_chunks(rarest=number % 2 == 0, seed=seed + number, **given)
        end = int(np.asarray(found.end).max(initial=0))
        if best is None or end < least:
            best, least = found, end
        if progress is not None:
            progress(number + 1, tries)
    assert best is not None
    columns = _columns(given["start"], given["end"], best)
    return Plan(Kind.ALL_GATHER, graph.ranks, graph.ranks * chunks, columns, "tacos")


def _columns(
    start: NDArray[np.uint32], end: NDArray[np.uint32], found: _core.Transfers
) -> Transfers:
    link, chunk = np.array(found.link), np.array(found.chunk)
    return Transfers(
        np.array(found.start) / _TICKS_PER_NS,
        np.array(found.end) / _TICKS_PER_NS,
        start[link],
        end[link],
        chunk,
        np.ones(len(link), np.uint32),
        np.zeros(len(link), np.bool_),
    )
