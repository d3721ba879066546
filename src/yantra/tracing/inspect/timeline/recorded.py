"""Timeline of timed traces: a process per rank, a lane per thread, stream or group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra.base.errors import TraceError
from yantra.base.text import count
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import DURATION, START, Columns, collective_name
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.timeline.chrome import Arrow, Span, Timeline


def recorded_timeline(job: Sequence[RankTrace], *, arrows: bool = False) -> Timeline:
    spans: list[Span] = []
    links: list[Arrow] = []
    warnings = []
    known: dict[int, Columns] = {}
    for rank, path, trace in job:
        if id(trace) not in known:
            known[id(trace)] = Columns(trace)
        columns = known[id(trace)]
        times = _times(columns)
        if not times:
            raise TraceError(
                f"{path}: no node has a start time; expected start_time_ns or start_time_micros, "
                "as linked traces have; to time other traces, simulate them with --trace-enabled "
                "and take the log"
            )
        shown = columns.count - columns.kind.count("delay")
        if len(times) < shown:
            missing = count(shown - len(times), "node")
            warnings.append(f"{path}: {missing} without a start time, left out")
        begin = len(spans)
        places = {node: begin + at for at, node in enumerate(times)}
        spans += [_span(columns, rank, node, *time) for node, time in times.items()]
        if arrows:
            links += _arrows(columns, places)
    processes = {item.rank: f"rank {item.rank}" for item in job}
    return Timeline(spans, links, processes, warnings)


def _times(columns: Columns) -> dict[int, tuple[float, float]]:
    extra = columns.extra
    exact = any(extra.number(START, node) is not None for node in range(columns.count))
    if not exact and not any(columns.start):
        return {}
    times = {}
    for node in range(columns.count):
        if columns.kind[node] == "delay":
            continue
        start_ns, duration_ns = extra.number(START, node), extra.number(DURATION, node)
        if start_ns is not None:
            duration = columns.duration[node] if duration_ns is None else duration_ns / 1000
            times[node] = (start_ns / 1000, max(duration, 0))
        elif not exact:
            times[node] = (columns.start[node], columns.duration[node])
    return times


def _span(columns: Columns, rank: int, node: int, start: float, duration: float) -> Span:
    args: dict[str, Any] = {"id": columns.id[node]}
    if columns.type[node] == NodeType.COMM_COLL:
        args["collective"] = collective_name(columns.comm_type[node])
    for name, value in (
        ("bytes", columns.comm_size[node]),
        ("tensor bytes", columns.tensor_size[node]),
    ):
        if value is not None:
            args[name] = value
    nests = columns.kind[node] in ("cpu", "other")
    return Span(rank, columns.lane[node], columns.name(node), start, duration, args, nests)


def _arrows(columns: Columns, places: dict[int, int]) -> list[Arrow]:
    index = {id: node for node, id in enumerate(columns.id)}
    found = []
    for target in places:
        for parent in columns.trace.native.data_deps(columns.record[target]):
            source = index.get(parent)
            if source in places and columns.lane[source] != columns.lane[target]:
                found.append(Arrow(places[source], places[target], "data"))
    return found
