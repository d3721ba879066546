"""Traces -> dependency graphs, once per distinct content.

A million ranks that run the same trace cost one decode; telling that two files are equal costs
reading them.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from yantra import _core
from yantra.errors import TraceError
from yantra.quirks import Quirk
from yantra.scenario import ChakraFiles, Traces

_GZIP_MAGIC = b"\x1f\x8b"


class Graphs:
    """The graph of every rank. `by_rank[r]` indexes `distinct` and `sources` (where it came from)."""

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
            raise TraceError(f"workload: {len(workload.traces)} traces for {ranks} ranks of the cluster")
        known_objects: dict[int, int] = {}
        for rank, trace in enumerate(workload.traces):
            if id(trace) not in known_objects:
                known_objects[id(trace)] = len(graphs.distinct)
                _add(graphs, trace.native, f"trace of rank {rank}", quirks)
            graphs.by_rank.append(known_objects[id(trace)])
        return graphs
    known: dict[bytes, int] = {}
    for rank in range(ranks):
        content = _read(workload.path(rank), rank, ranks)
        if content not in known:
            known[content] = len(graphs.distinct)
            _add(graphs, decode(content, workload.path(rank)), workload.path(rank), quirks)
        graphs.by_rank.append(known[content])
    return graphs


def decode(content: bytes, where: str) -> Any:
    """Decode a trace file's bytes, plain or gzip, into the core's Trace."""
    try:
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        return _core.decode_trace(content)
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        raise TraceError(f"{where}: not a whole gzip file: {error}") from None
    except _core.TraceFault as fault:
        raise TraceError(f"{where}: {fault}") from None


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


def _read(path: str, rank: int, ranks: int) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise TraceError(
            f"{path}: no such file; rank {rank} of {ranks} needs a trace (the cluster's size "
            "decides how many)"
        ) from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
