"""Synchronisation edges that upstream's linker takes from a critical-path analysis of the first
ProfilerStep. At equal times file order counts.

Source: HolisticTraceAnalysis d731cc2, which MLCommons Chakra 1.0.0 calls.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from yantra.tracing.pytorch.upstream.device import Event

_QUEUED = frozenset(
    (
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cuLaunchKernel",
        "cudaMemcpyAsync",
        "cudaMemsetAsync",
    )
)
_BLOCKING = frozenset(
    (
        "cudaDeviceSynchronize",
        "cudaStreamSynchronize",
        "cudaEventQuery",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cudaMemcpyAsync",
    )
)
_ON_DEVICE_SYNCS = ("Event Sync", "Context Sync")
_STEP = "ProfilerStep"


class _NoEdgesError(Exception):
    """Upstream finds no synchronisation edges, or fails to look for them."""


class _Row(NamedTuple):
    place: int  # in the file
    event: Event
    ts: Any
    dur: Any
    linked: int  # the launch of a device op, the device op of a launch; 0 unknown, -1 none

    @property
    def stream(self) -> Any:
        stream = self.event.args.stream
        return -1 if stream is None else stream

    @property
    def end(self) -> Any:
        return self.ts + self.dur

    @property
    def on_device(self) -> bool:
        return bool(self.stream > 0) or self.event.name in _ON_DEVICE_SYNCS

    @property
    def queued(self) -> bool:
        return self.event.name in _QUEUED and self.linked > 0


def sync_dependencies(events: Sequence[Event]) -> dict[Any, list[Any]]:
    """External ids of what is waited for, by the External id of what waits.

    Both on the critical path of the first ProfilerStep. Empty without `cuda_sync` events.
    """
    if not any(event.cat == "cuda_sync" for event in events):
        return {}
    try:
        rows = _linked_rows(events)
        names = {row.event.name for row in rows.values()}
        rows = _steps_but_last(rows)
        graph = _Graph(rows, _window(rows), names)
        pairs = graph.critical_syncs()
    except (_NoEdgesError, TypeError):  # TypeError: streams or ids that are not numbers
        return {}
    found: dict[Any, list[Any]] = {}
    for before, after in pairs:
        first, then = events[before].args.external, events[after].args.external
        if first is not None and then is not None and first != then:
            found.setdefault(then, []).append(first)
    return found


# Rows


def _linked_rows(events: Sequence[Event]) -> dict[int, _Row]:
    fractions = any(type(event.ts) is not int for event in events)
    rows: dict[int, _Row] = {}
    for index, event in enumerate(events):
        if event.ts is None or event.dur is None or event.cat is None or event.cat == "Trace":
            continue
        ts, dur = event.ts, event.dur
        if fractions:
            ts, dur = math.ceil(event.ts), math.floor(event.ts + event.dur) - math.ceil(event.ts)
        correlation: Any = event.args.correlation
        rows[index] = _Row(index, event, ts, dur, min(correlation, 0))
    if not rows:
        raise _NoEdgesError
    first = min(row.ts for row in rows.values())
    for index, row in rows.items():
        rows[index] = row._replace(ts=row.ts - first)
    _link(rows)
    return rows


def _link(rows: dict[int, _Row]) -> None:
    launches: dict[Any, list[int]] = {}
    device_ops: dict[Any, list[int]] = {}
    for row in rows.values():
        if row.event.args.correlation != -1:
            side = device_ops if row.on_device else launches
            side.setdefault(row.event.args.correlation, []).append(row.place)
    for correlation in launches.keys() & device_ops.keys():
        for launch in launches[correlation]:
            rows[launch] = rows[launch]._replace(linked=device_ops[correlation][-1])
        for device_op in device_ops[correlation]:
            rows[device_op] = rows[device_op]._replace(linked=launches[correlation][-1])


def _steps_but_last(rows: dict[int, _Row]) -> dict[int, _Row]:
    """Device ops then come first, as in upstream's tables."""
    steps = {row.event.name for row in rows.values() if _STEP in row.event.name}
    if not steps:
        raise _NoEdgesError
    if len(steps) == 1:
        return rows
    on_host = [row for row in rows.values() if not row.on_device]
    last = max((row.ts for row in on_host if row.event.name in steps), default=-math.inf)
    kept = [row for row in on_host if row.ts < last]
    launched = Counter(row.event.args.correlation for row in kept)
    device_ops = [r for r in rows.values() if r.on_device and r.event.args.correlation in launched]
    if any(launched[row.event.args.correlation] > 1 for row in device_ops):
        raise _NoEdgesError  # upstream's tables have such a device op twice
    return {row.place: row for row in [*device_ops, *kept]}


def _window(rows: dict[int, _Row]) -> list[_Row]:
    step = next((row for row in rows.values() if _STEP in row.event.name), None)
    if step is None:
        raise _NoEdgesError

    def inside(row: _Row) -> bool:
        return bool(step.ts <= row.ts <= step.end and row.dur > 0)

    chosen: set[int] = set()
    first: list[_Row] = []
    for row in rows.values():
        if row.stream == -1:
            if row.linked == 0:
                first.append(row)
            if inside(row):
                chosen.add(row.place)
                device_op = rows.get(row.linked)
                if row.linked > 0 and device_op is not None and device_op.stream != -1:
                    chosen.add(row.linked)
        elif row.event.name == "Stream Wait Event":
            chosen.add(row.place)
    if 0 in rows and rows[0].stream != -1:
        # Unlinked calls have mark 0, which upstream takes for the file's first event.
        if rows[0].event.name != "Stream Wait Event":
            first = [row for row in first if inside(row)]
        if len(first) > 1:
            raise _NoEdgesError
        chosen |= {0} if first else set()
    return [rows[index] for index in sorted(chosen)]


def _by_time(rows: Iterator[_Row] | Sequence[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: row.ts)


# Launches, recorded events and waits on them


class _Launches:
    def __init__(self, rows: dict[int, _Row], names: set[str]) -> None:
        self.rows = rows
        self.names = names
        self.of = [
            (row, rows[row.linked])
            for row in _by_time([row for row in rows.values() if row.queued])
            if row.linked in rows and rows[row.linked].stream != -1 and rows[row.linked].linked > 0
        ]

    def _streams(self, key: Any) -> dict[Any, list[int]]:
        streams: dict[Any, list[int]] = {}
        for place, (launch, device_op) in enumerate(self.of):
            streams.setdefault(key(launch, device_op), []).append(place)
        return streams

    def before_records(self) -> dict[Any, _Row] | None:
        """A record's stream is known only where something waits for it."""
        if "cudaEventRecord" not in self.names:
            return None
        where = {
            (args.wait_on_cuda_event_record_corr_id, args.wait_on_stream, row.event.pid)
            for row in self.rows.values()
            if (args := row.event.args).wait_on_stream > -1
        }
        stream_of = {correlation: (device, stream) for correlation, stream, device in where}
        records = [row for row in self.rows.values() if row.event.name == "cudaEventRecord"]
        correlations = [row.event.args.correlation for row in records]
        if len(stream_of) < len(where) or len(set(correlations)) < len(correlations):
            raise _NoEdgesError
        places = self._streams(lambda launch, op: (op.event.pid, op.stream))
        found: dict[Any, _Row] = {}
        known = False
        for row in records:
            correlation = row.event.args.correlation
            if correlation not in stream_of:
                continue
            known = True
            on_stream = places.get(stream_of[correlation], [])
            last = bisect_right(on_stream, row.ts, key=self._time) - 1
            if last >= 0:
                found[correlation] = self.of[on_stream[last]][0]
        return found if known else None

    def after_waits(self) -> dict[int, _Row | None] | None:
        if not {"cudaStreamWaitEvent", "Stream Wait Event"} <= self.names:
            return None
        places = self._streams(lambda row, op: (row.event.pid, row.event.tid, op.stream))
        found: dict[int, _Row | None] = {}
        for row in self.rows.values():
            wait = self.rows.get(row.linked)
            if row.event.name != "cudaStreamWaitEvent" or row.linked <= 0 or wait is None:
                continue
            if wait.stream == -1 or wait.linked <= 0:
                continue
            on_stream = places.get((row.event.pid, row.event.tid, wait.stream), [])
            following = bisect_right(on_stream, row.ts, key=self._time)
            found[row.place] = (
                self.of[on_stream[following]][0] if following < len(on_stream) else None
            )
        if not found:
            raise _NoEdgesError
        return found

    def _time(self, place: int) -> Any:
        return self.of[place][0].ts


def _queue_lengths(rows: dict[int, _Row]) -> dict[int, int]:
    launches = [row for row in rows.values() if row.queued]
    device_ops = [row for row in rows.values() if row.stream != -1]
    streams: dict[Any, list[Any]] = {}
    for row in device_ops:
        streams.setdefault(row.event.args.correlation, []).append(row.stream)
    known = {row.event.args.correlation for row in launches}
    begins = [row for row in device_ops if row.event.args.correlation in known]
    matches = [streams.get(row.event.args.correlation, []) for row in launches]
    if any(len(match) > 1 for match in matches) or len(launches) != len(begins):
        raise _NoEdgesError
    changes = [
        (row, stream, 1) for row, match in zip(launches, matches, strict=True) for stream in match
    ]
    changes += [(row, row.stream, -1) for row in begins]
    changes.sort(key=lambda change: change[0].ts)
    lengths: dict[int, int] = {}
    outstanding: dict[Any, int] = {}
    for row, stream, step in changes:
        outstanding[stream] = outstanding.get(stream, 0) + step
        lengths[row.place] = outstanding[stream]
    return lengths


# The graph


class _Edge(NamedTuple):
    weight: Any
    sync: bool


class _Graph:
    def __init__(self, rows: dict[int, _Row], window: list[_Row], names: set[str]) -> None:
        self.rows = rows
        self.window = window
        self.names = names
        self.owner: list[_Row] = []
        self.time: list[Any] = []
        self.begin_of: dict[int, int] = {}  # place of event: node of its begin
        self.before: list[dict[int, _Edge]] = []
        self.after: list[list[int]] = []
        for thread in self._threads():
            self._add_thread(thread)
        self._add_device_ops()

    def critical_syncs(self) -> list[tuple[int, int]]:
        self._check()
        path = self._longest_path()
        pairs = pairwise(path)
        return [
            (self.owner[u].place, self.owner[v].place) for u, v in pairs if self.before[v][u].sync
        ]

    def _add_event(self, row: _Row) -> tuple[int, int]:
        begin = len(self.time)
        self.begin_of[row.place] = begin
        self.owner += (row, row)
        self.time += (row.ts, row.end)
        self.before += ({}, {})
        self.after += ([], [])
        return begin, begin + 1

    def _add_edge(self, u: int, v: int, free: bool = False, sync: bool = False) -> None:
        if u not in self.before[v]:
            self.after[u].append(v)
        weight = 0 if free or sync else self.time[v] - self.time[u]
        self.before[v][u] = _Edge(weight, sync)

    def _end_of(self, index: int) -> int | None:
        begin = self.begin_of.get(index)
        return None if begin is None else begin + 1

    def _threads(self) -> list[list[_Row]]:
        threads: dict[tuple[Any, Any], list[_Row]] = {}
        for row in self.window:
            if row.event.pid is not None and row.event.tid is not None:
                threads.setdefault((row.event.pid, row.event.tid), []).append(row)
        by_key = sorted(threads.items(), key=lambda item: tuple(map(_numbers_first, item[0])))
        return [rows for _, rows in by_key if all(row.stream < 0 for row in rows)]

    def _add_thread(self, rows: list[_Row]) -> None:
        last = last_top = None
        depth = 0
        for row, entering in _nested(rows):
            if row.place <= 0 or row.event.cat not in ("cpu_op", "cuda_runtime", "cuda_driver"):
                continue
            if entering:
                begin, _ = self._add_event(row)
                if depth == 0 and last_top is not None:
                    self._add_edge(last_top, begin, free=True)
                depth += 1
                if last is not None:
                    self._add_edge(last, begin)
                last = begin
            else:
                depth -= 1
                end = self.begin_of[row.place] + 1
                if last is not None:
                    self._add_edge(last, end, free=row.event.name in _BLOCKING)
                last = end
                if depth == 0:
                    last, last_top = None, end

    def _add_device_ops(self) -> None:
        self.lengths = _queue_lengths(self.rows)
        launches = _Launches(self.rows, self.names)
        self.before_records = launches.before_records()
        self.after_waits = launches.after_waits()
        self.last_on: dict[Any, int] = {}
        self.scheduled: dict[int, int] = {}  # a device op and the one it waits for
        rows = [
            row
            for row in self.window
            if (row.stream != -1 or row.event.name in _ON_DEVICE_SYNCS) and row.linked >= 0
        ]
        rows.sort(key=lambda row: row.end if row.event.cat == "cuda_sync" else row.ts)
        for row in rows:
            if row.event.cat == "cuda_sync":
                self._add_sync(row)
            else:
                self._add_device_op(row)

    def _add_sync(self, row: _Row) -> None:
        name = row.event.name
        if name in ("Stream Wait Event", "Event Sync"):
            self._add_event_sync(row)
        elif name == "Context Sync":
            for node in list(self.last_on.values()):
                self._wait(node, row.linked)
        elif name == "Stream Sync":
            if row.stream in self.last_on:
                self._wait(self.last_on[row.stream], row.linked)
        else:
            raise _NoEdgesError

    def _add_event_sync(self, row: _Row) -> None:
        records = self.before_records or {}
        launch = records.get(row.event.args.wait_on_cuda_event_record_corr_id)
        if launch is None:
            return
        if row.event.name == "Event Sync":
            node = self._end_of(launch.linked)
            if node is not None:
                self._wait(node, row.linked)
            return
        if self.after_waits is None or row.linked not in self.after_waits:
            raise _NoEdgesError
        following = self.after_waits[row.linked]
        if following is not None:
            self.scheduled[following.linked] = launch.linked

    def _wait(self, node: int, call: int) -> None:
        end = self._end_of(call)
        if end is None or end == node:
            raise _NoEdgesError
        self._add_edge(node, end, sync=True)

    def _add_device_op(self, row: _Row) -> None:
        begin, end = self._add_event(row)
        self._add_edge(begin, end)
        awaited = self.scheduled.pop(row.place, None)
        source = None if awaited is None else self._end_of(awaited)
        if source is not None:
            self._add_edge(source, begin, sync=True)
        launch = self.rows.get(row.linked)
        previous = self.last_on.get(row.stream)
        latest = [self.time[node] for node in (previous, source) if node is not None]
        idle = self.lengths.get(row.linked) == 1 and self.lengths.get(row.place) == 0
        if idle and launch is None:
            raise _NoEdgesError
        if idle and launch is not None and all(time < launch.ts for time in latest):
            if row.linked not in self.begin_of:
                raise _NoEdgesError
            self._add_edge(self.begin_of[row.linked], begin)
        elif previous is not None and (source is None or self.time[source] < self.time[previous]):
            self._add_edge(previous, begin)
        self.last_on[row.stream] = end

    # The longest path

    def _check(self) -> None:
        for v, edges in enumerate(self.before):
            for u, edge in edges.items():
                streams = self.owner[u].stream, self.owner[v].stream
                if edge.weight < -1 or (edge.sync and streams[0] == streams[1] != -1):
                    raise _NoEdgesError
                if edge.weight == -1:
                    edges[u] = edge._replace(weight=0)

    def _longest_path(self) -> list[int]:
        length: dict[int, Any] = {}
        best: dict[int, int] = {}
        for v in self._in_order():
            arrivals = [(length[u] + edge.weight, u) for u, edge in self.before[v].items()]
            most, u = max(arrivals, key=lambda arrival: arrival[0], default=(0, v))
            length[v], best[v] = (most, u) if most >= 0 else (0, v)
        if not length:
            raise _NoEdgesError
        path = [max(length, key=lambda v: length[v])]
        while best[path[-1]] != path[-1]:
            path.append(best[path[-1]])
        return path[::-1]

    def _in_order(self) -> list[int]:
        missing = [len(edges) for edges in self.before]
        order = [v for v, count in enumerate(missing) if count == 0]
        for u in order:
            for v in self.after[u]:
                missing[v] -= 1
                if missing[v] == 0:
                    order.append(v)
        if len(order) < len(missing):
            raise _NoEdgesError
        return order


def _nested(rows: Sequence[_Row]) -> Iterator[tuple[_Row, bool]]:
    """Of two that begin together the longer is outside; at one time ends precede begins.

    An end closes the innermost open row, even another's.
    """
    marks = [(row.ts + int(row.dur), 0, row.dur, place) for place, row in enumerate(rows)]
    marks += [(row.ts, 1, -row.dur, place) for place, row in enumerate(rows)]
    inside: list[list[int]] = [[] for _ in rows]
    top: list[int] = []
    opened: list[int] = []
    for _, begins, _, place in sorted(marks):
        if begins:
            (inside[opened[-1]] if opened else top).append(place)
            opened.append(place)
        elif opened:
            opened.pop()
    walk = [(place, True) for place in reversed(top)]
    while walk:
        place, entering = walk.pop()
        yield rows[place], entering
        if entering:
            walk.append((place, False))
            walk += [(child, True) for child in reversed(inside[place])]


def _numbers_first(key: Any) -> tuple[bool, Any]:
    return isinstance(key, str), key
