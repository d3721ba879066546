"""Timeline of timed traces: a process per rank, a lane per thread, stream or group."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import add
from typing import Any

import numpy as np

from yantra.base.errors import TraceError
from yantra.base.text import count
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import DURATION, KINDS, START, Columns, collective_name
from yantra.tracing.inspect.surveyed import RankSeen
from yantra.tracing.inspect.timeline.chrome import Arrow, Rows, Span, Spans, Timeline

_BATCH = 4096  # nodes
_NESTING = (KINDS.index("cpu"), KINDS.index("other"))


def recorded_timeline(job: Sequence[RankSeen], *, arrows: bool = False) -> Timeline:
    links: list[Arrow] = []
    warnings = []
    known: dict[int, _Timed] = {}
    ranks: list[tuple[int, _Timed]] = []
    begin = 0
    for rank, path, trace in job:
        if id(trace) not in known:
            known[id(trace)] = _Timed(Columns(trace))
        timed = known[id(trace)]
        ranks.append((rank, timed))
        if not len(timed.nodes):
            raise TraceError(
                f"{path}: no node has a start time; expected start_time_ns or start_time_micros, "
                "as linked traces have; to time other traces, simulate them with --trace-enabled "
                "and take the log"
            )
        columns = timed.columns
        shown = columns.count - columns.kind.count("delay")
        if len(timed.nodes) < shown:
            missing = count(shown - len(timed.nodes), "node")
            warnings.append(f"{path}: {missing} without a start time, left out")
        if arrows:
            places = {node: begin + at for at, node in enumerate(timed.nodes.tolist())}
            links += _arrows(columns, places)
        begin += len(timed.nodes)
    processes = {item.rank: f"rank {item.rank}" for item in job}
    return Timeline(_RecordedSpans(ranks), links, processes, warnings)


class _Timed:
    """The nodes of a trace that have times, delays left out."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.is_exact = columns.extra.has_number(START)
        timed = columns.extra.present(START) if self.is_exact else np.ones(columns.count, bool)
        timed &= np.asarray(columns.kind.places) != KINDS.index("delay")
        if not (self.is_exact or any(columns.start)):
            timed[:] = False
        self.nodes = np.flatnonzero(timed).astype(np.uint32)

    def batches(self) -> Iterator[tuple[list[int], list[float], list[float]]]:
        """Nodes, and their starts and durations in us."""
        columns = self.columns
        for begin in range(0, len(self.nodes), _BATCH):
            nodes = self.nodes[begin : begin + _BATCH].tolist()
            micros: list[float] = [columns.duration[node] for node in nodes]
            if not self.is_exact:
                yield nodes, [columns.start[node] for node in nodes], micros
                continue
            starts = columns.extra.numbers(START, nodes)
            lasting = columns.extra.numbers(DURATION, nodes)
            for at, ns in enumerate(lasting):
                if ns is not None:
                    micros[at] = max(ns / 1000, 0)
            yield nodes, [(ns or 0) / 1000 for ns in starts], micros

    def spans(self, rank: int) -> Iterator[Span]:
        columns = self.columns
        kinds, lanes, id, type = columns.kind.places, columns.lane, columns.id, columns.type
        sizes = [
            (name, column)
            for name, column in (
                ("bytes", columns.comm_size),
                ("tensor bytes", columns.tensor_size),
            )
            if column.kinds
        ]
        for batch in self.batches():
            for node, start, duration in zip(*batch, strict=True):
                args: dict[str, Any] = {"id": id[node]}
                if type[node] == NodeType.COMM_COLL:
                    args["collective"] = collective_name(columns.comm_type[node])
                for name, column in sizes:
                    if (value := column[node]) is not None:
                        args[name] = value
                nests = kinds[node] in _NESTING
                yield Span(rank, lanes[node], columns.name(node), start, duration, args, nests)


class _RecordedSpans(Spans):
    """The spans of ranks, one after the other."""

    def __init__(self, ranks: Sequence[tuple[int, _Timed]]) -> None:
        self._ranks = ranks

    def __len__(self) -> int:
        return sum(len(timed.nodes) for _, timed in self._ranks)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        return next(islice(iter(self), range(len(self))[at], None))

    def __iter__(self) -> Iterator[Span]:
        for rank, timed in self._ranks:
            yield from timed.spans(rank)

    def rows(self) -> Rows:
        starts, ends, lanes, nests = array("d"), array("d"), array("I"), bytearray()
        names: dict[tuple[int, str], int] = {}
        for rank, timed in self._ranks:
            kinds, lane = timed.columns.kind.places, timed.columns.lane
            number = [names.setdefault((rank, name), len(names)) for name in lane.names]
            for nodes, begins, lasting in timed.batches():
                starts.extend(begins)
                ends.extend(map(add, begins, lasting))
                lanes.extend([number[lane.places[node]] for node in nodes])
                nests.extend([kinds[node] in _NESTING for node in nodes])
        return Rows(starts, ends, lanes, nests, list(names))


def _arrows(columns: Columns, places: dict[int, int]) -> list[Arrow]:
    index = {id: node for node, id in enumerate(columns.id)}
    found = []
    for target in places:
        for parent in columns.native.data_deps(columns.record[target]):
            source = index.get(parent)
            if source in places and columns.lane[source] != columns.lane[target]:
                found.append(Arrow(places[source], places[target], "data"))
    return found
