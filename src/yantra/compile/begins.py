"""When each rank of a recorded job began, on one clock, in place of all at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from yantra import _core
from yantra.base.text import count
from yantra.base.units import format_time
from yantra.chakra import heads
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.compile.graphs import Graphs
from yantra.scenario import Scenario, Traces
from yantra.scenario.types import ChakraFiles
from yantra.tracing.clocks import End, on_one_clock

_LONGEST_NS = 3_600_000_000_000
_ABSOLUTE = ("origin_ns", "base_ns")


class Begins(NamedTuple):
    """Nanoseconds by rank after the first; what is to say of them."""

    ns: list[int]
    said: str


def begins_of(scenario: Scenario, graphs: Graphs) -> Begins | None:
    """None where ranks are not different recordings, or nothing says when they began."""
    ranks = len(graphs.by_rank)
    recorded = [graph.complete_order for graph in graphs.distinct]
    if ranks < 2 or len(set(graphs.by_rank)) < ranks or not all(recorded):
        return None
    origins = [_origin(scenario, rank) for rank in range(ranks)]
    if any(origin is None for origin in origins):
        return None
    known = [origin or 0 for origin in origins]
    clocks = on_one_clock([_ends(graphs.of(rank), known[rank]) for rank in range(ranks)])
    if clocks.how == "unknown":
        return Begins([], f"{clocks.in_words()}, and all ranks begin at once")
    true = [float(clocks.true_ns(rank, origin)) for rank, origin in enumerate(known)]
    begins = [round(one - min(true)) for one in true]
    last = max(begins)
    if last > _LONGEST_NS:
        return Begins([], "the ranks were recorded at different times, and begin at once")
    said = (
        f"the recordings of {count(ranks, 'rank')} begin up to {format_time(last)} apart, rank "
        f"{begins.index(last)} last, and so does the run; {clocks.in_words()}"
    )
    return Begins(begins, said if last > clocks.spread_ns else "")


def _origin(scenario: Scenario, rank: int) -> int | None:
    workload = scenario.workload
    if isinstance(workload, Traces):
        native = workload.traces[rank].native
    elif isinstance(workload, ChakraFiles):
        head = heads.head_of(workload.path(rank))
        if head is None:
            return None
        native = head
    else:
        return None
    said = {name: value for name, _, value, _ in native.metadata if name in _ABSOLUTE}
    origin, base = said.get("origin_ns"), said.get("base_ns", 0)
    return origin + base if isinstance(origin, int) and isinstance(base, int) else None


def _ends(graph: _core.Graph, origin_ns: int) -> list[End]:
    """Ends of a rank's collectives, by start."""
    if not _core.node_kinds(graph).unexplained:
        return []  # without delays its times are not the recorded ones
    types = np.asarray(graph.type)
    nodes = np.flatnonzero(types == NodeType.COMM_COLL)
    if not len(nodes):
        return []
    ends = np.asarray(_core.recorded_ends(graph), dtype=np.int64)[nodes] * 1000
    starts = ends - np.asarray(graph.duration_micros)[nodes].astype(np.int64) * 1000
    names, groups = graph.pg_names, graph.pg_name
    kinds, sizes = graph.comm_type.value, graph.comm_size.value
    found = []
    for at in np.lexsort((ends, starts)).tolist():
        node = int(nodes[at])
        kind = int(kinds[node]) if len(kinds) else -1
        named = CollectiveType(kind).name if 0 <= kind < len(CollectiveType) else str(kind)
        group = names[groups[node]] if groups[node] >= 0 else ""
        size = int(sizes[node]) if len(sizes) else 0
        found.append(End(group, (named, size), origin_ns + int(ends[at])))
    return found
