"""Traces -> dependency graphs, once per distinct content.

A million ranks that run the same trace cost one decode; telling that two files are equal costs
reading them.
"""

from __future__ import annotations

from typing import Any

from yantra.chakra import files
from yantra.chakra.trace import Trace
from yantra.errors import TraceError
from yantra.quirks import Quirk
from yantra.scenario import ChakraFiles, Traces


class Graphs:
    """The graph of every rank: `by_rank[r]` indexes `distinct` and `sources`."""

    def __init__(self) -> None:
        self.distinct: list[Any] = []
        self.sources: list[str] = []
        self.by_rank: list[int] = []
        self.warnings: list[str] = []

    def of(self, rank: int) -> Any:
        """Return the graph of a rank."""
        return self.distinct[self.by_rank[rank]]


def load_graphs(workload: ChakraFiles | Traces, ranks: int, quirks: frozenset[Quirk]) -> Graphs:
    """Load one graph per rank. Raises TraceError naming file, node and what is wrong."""
    graphs = Graphs()
    if isinstance(workload, Traces):
        if len(workload.traces) != ranks:
            raise TraceError(
                f"workload: {len(workload.traces)} traces for {ranks} ranks of the cluster"
            )
        known_objects: dict[int, int] = {}
        for rank, trace in enumerate(workload.traces):
            if id(trace) not in known_objects:
                known_objects[id(trace)] = len(graphs.distinct)
                _add(graphs, trace.native, f"trace of rank {rank}", quirks)
            graphs.by_rank.append(known_objects[id(trace)])
        return graphs
    known: dict[bytes, int] = {}
    for rank in range(ranks):
        path = workload.path(rank)
        content = files.load(path)
        if content not in known:
            known[content] = len(graphs.distinct)
            _add(graphs, Trace.from_bytes(content, path).native, path, quirks)
        graphs.by_rank.append(known[content])
    return graphs


def build_graph(trace: Any, where: str, quirks: frozenset[Quirk]) -> tuple[Any, list[str]]:
    """Build the graph of a trace; return it with warnings, raise TraceError for its first error."""
    graph = trace.graph(merge_duplicates=Quirk.DUPLICATE_IDS_MERGE in quirks)
    warnings = []
    for finding in graph.diagnostics:
        text = f"{where}: {finding.text}"
        dropped = finding.code == "cycle" and Quirk.UNREACHABLE_NODES_ARE_DROPPED in quirks
        if dropped and any(count == 0 for count in graph.parent_count):
            warnings.append(f"{text}; these nodes never run, as in ASTRA-sim")
        elif finding.is_error:
            raise TraceError(text)
        elif finding.code == "duplicate-id":
            warnings.append(text)
    return graph, warnings


def _add(graphs: Graphs, trace: Any, where: str, quirks: frozenset[Quirk]) -> None:
    graph, warnings = build_graph(trace, where, quirks)
    graphs.distinct.append(graph)
    graphs.sources.append(where)
    graphs.warnings.extend(warnings)
