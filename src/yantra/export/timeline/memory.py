"""Memory of a rank over time, as counters: saved activations (`act_alloc`, `act_free`), and tracked
live tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra import _core
from yantra.chakra import files
from yantra.chakra.trace import decode
from yantra.export import local_memory
from yantra.export.timeline.sink import Sink
from yantra.export.timeline.tracks import Wholes
from yantra.result import Result
from yantra.result.tables import NEVER
from yantra.scenario import ChakraFiles, Traces
from yantra.scenario.training import templates_of
from yantra.scenario.types import Workload

_NAMES = ("act_alloc", "act_free")


class Memory:
    def __init__(self, result: Result, sink: Sink) -> None:
        self._result = result
        self._sink = sink
        self._start = np.asarray(result.outcome.start)
        self._end = np.asarray(result.outcome.end)
        self._stated: dict[int, tuple[Wholes, Wholes] | None] = {}

    def write(self, rank: int, process: int) -> None:
        saved = self._activations(rank)
        if saved is not None:
            self._counter(process, "memory: saved activations", *saved)
        if self._result.model.scenario.track_local_memory:
            timeline = np.array(local_memory.usage(self._result, rank).timeline, np.uint64)
            if len(timeline):
                self._counter(process, "memory: tensors", timeline[:, 0], timeline[:, 1])

    def _activations(self, rank: int) -> tuple[Wholes, Wholes] | None:
        model = self._result.model
        at = model.graphs.by_rank[rank]
        if at not in self._stated:
            self._stated[at] = _stated(model.scenario.workload, rank, model.graphs.distinct[at])
        stated = self._stated[at]
        if stated is None:
            return None
        first = self._result.outcome.first_node[rank]
        alloc, free = stated
        start, end = (ticks[first : first + len(alloc)] for ticks in (self._start, self._end))
        begins = np.flatnonzero((alloc > 0) & (end != NEVER))
        ends = np.flatnonzero((free > 0) & (end != NEVER))
        ticks = np.concatenate([start[begins], end[ends]])
        change = np.concatenate([alloc[begins].astype(np.int64), -free[ends].astype(np.int64)])
        order = np.argsort(ticks, kind="stable")
        return ticks[order], np.cumsum(change[order])

    def _counter(self, process: int, name: str, ticks: Wholes, live: Any) -> None:
        track = self._sink.counter(process, name, "bytes")
        times = ticks // np.uint64(self._result.model.ticks_per_ns)
        last = np.append(times[1:] != times[:-1], True)
        self._sink.writer.values(track, times[last], live[last].astype(np.float64))


def _stated(workload: Workload, rank: int, graph: _core.Graph) -> tuple[Wholes, Wholes] | None:
    # Graphs omit what runs do not read, so the trace is decoded again.
    trace = _trace(workload, rank)
    if trace is None:
        return None
    stated = np.zeros((2, len(graph)), np.uint64)
    nodes = np.searchsorted(np.asarray(graph.id), np.asarray(trace.id))
    for record, node in enumerate(nodes.tolist()):
        for name, _, value, _ in trace.attributes(record):
            if name in _NAMES and isinstance(value, int) and value > 0:
                stated[_NAMES.index(name), node] = value
    return (stated[0], stated[1]) if stated.any() else None


def _trace(workload: Workload, rank: int) -> _core.Trace | None:
    if isinstance(workload, Traces):
        native: _core.Trace = workload.traces[rank].native
        return native
    if isinstance(workload, ChakraFiles):
        content, where = files.load(workload.path(rank)), workload.path(rank)
    else:
        templates = templates_of(workload)
        template = templates.class_of(rank).template
        content, where = templates.template_bytes(template), templates.where(template)
    return decode(content, where) if _NAMES[0].encode() in content else None
