"""The order of device ops: streams, events between streams, communicators.

Without `enable_cuda_sync_events` waits are inferred from call order and measured times.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from yantra.tracing.pytorch.event_columns import Column, Events
from yantra.tracing.pytorch.events import Event
from yantra.tracing.pytorch.link.launches import ByCorrelation
from yantra.tracing.pytorch.link.ops import Ops
from yantra.tracing.pytorch.linked import DeviceOp, LinkReport

_NOISE_NS = 1000
_PROMPT_NS = 50_000  # an op waiting for an event starts within this time of it
_FEW = 64  # open collectives looked at
WAIT_CALLS = frozenset({"cudaStreamWaitEvent", "cuStreamWaitEvent", "hipStreamWaitEvent"})
Place = tuple[int, int]  # device, stream


class Queues:
    """Device ops of every stream in launch order."""

    def __init__(self, ops: Ops) -> None:
        self.ops = ops
        issued = ops.issued()
        self.by_stream: dict[Place, _Queue] = {}
        for rows in _grouped(ops.lane):
            place = int(ops.device[rows[0]]), int(ops.stream[rows[0]])
            self.by_stream[place] = _Queue(ops.at, rows, issued[rows], ops.end[rows])
        self.by_thread: dict[int, _Queue] = {}
        launched = np.flatnonzero(ops.launched)
        launched = launched[np.argsort(ops.launch_start[launched], kind="stable")]
        for rows in _grouped(ops.launch_tid[launched]):
            tid = int(ops.launch_tid[launched[rows[0]]])
            here = launched[rows]
            self.by_thread[tid] = _Queue(ops.at, here, issued[here], ops.end[here])

    def last_before(self, place: Place, time: int) -> DeviceOp | None:
        queue = self.by_stream.get(place)
        return queue.last_before(time) if queue else None

    def first_after(self, place: Place, time: int) -> DeviceOp | None:
        queue = self.by_stream.get(place)
        return queue.first_after(time) if queue else None

    def thread_before(self, tid: int, time: int) -> DeviceOp | None:
        queue = self.by_thread.get(tid)
        return queue.last_before(time) if queue else None

    def thread_after(self, tid: int, time: int) -> DeviceOp | None:
        queue = self.by_thread.get(tid)
        return queue.first_after(time) if queue else None

    def ended_before(self, op: DeviceOp) -> int:
        return int(self.ops.end[op.after[0]]) if op.after else 0

    def ended_last(self, op: DeviceOp, time: int) -> list[DeviceOp]:
        """Of other streams, the last op ended before `op` starts, if launched before `time`."""
        found = []
        for place, queue in self.by_stream.items():
            if place != (op.device, op.stream):
                last = queue.ended_by(op.start_ns)
                if last is not None and _launch(last) < time:
                    found.append(last)
        return found

    def others_before(self, op: DeviceOp, time: int) -> bool:
        return any(
            queue.last_before(time) is not None
            for place, queue in self.by_stream.items()
            if place != (op.device, op.stream)
        )

    def places(self) -> list[Place]:
        return list(self.by_stream)


def _grouped(numbers: Column) -> list[Column]:
    """Rows of each number, numbers in order of appearance."""
    if not len(numbers):
        return []
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order])) + 1
    return sorted(np.split(order, starts), key=lambda rows: int(rows[0]))


class _Queue:
    """Rows in order of launch; `at` makes an op of one."""

    def __init__(
        self, at: Callable[[int], DeviceOp], rows: Column, issued: Column, ends: Column
    ) -> None:
        self._at = at
        self._rows = _view(rows)
        self._ends = _view(ends)
        self.times = _view(np.minimum.accumulate(issued[::-1])[::-1])

    def last_before(self, time: int) -> DeviceOp | None:
        index = bisect_left(self.times, time)
        return self._at(self._rows[index - 1]) if index else None

    def ended_by(self, time: int) -> DeviceOp | None:
        index = bisect_right(self._ends, time)
        return self._at(self._rows[index - 1]) if index else None

    def first_after(self, time: int) -> DeviceOp | None:
        index = bisect_right(self.times, time)
        return self._at(self._rows[index]) if index < len(self.times) else None


def _view(column: Column) -> memoryview:
    return memoryview(cast("Any", np.ascontiguousarray(column)))


def _launch(op: DeviceOp) -> int:
    return op.launch_start_ns or 0


RECORD_CALLS = frozenset(
    {"cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "hipEventRecord"}
)


class Records:
    def __init__(self, calls: Events) -> None:
        self.by_thread: defaultdict[object, list[Event]] = defaultdict(list)
        for row in np.flatnonzero(calls.named(RECORD_CALLS.__contains__)).tolist():
            call = calls[row]
            self.by_thread[call.tid].append(call)

    def before(self, call: Event) -> Event | None:
        own = self.by_thread.get(call.tid, [])
        index = bisect_left(own, call.start, key=_start)
        return own[index - 1] if index else None


def _start(call: Event) -> int:
    return call.start


def recorded_waits(
    syncs: Sequence[Event],
    calls: ByCorrelation,
    records: Records,
    queues: Queues,
    origin: int,
    report: LinkReport,
) -> None:
    """Add the trace's "Stream Wait Event" events to `after`."""
    for sync in syncs:
        detail = sync.detail
        if detail.sync_kind != "Stream Wait Event":
            continue
        report.stream_waits += 1
        wait = calls.get(detail.correlation if detail.correlation is not None else -1)
        awaited, waiting = detail.wait_on_stream, detail.stream
        if wait is None or awaited is None or awaited < 0 or not isinstance(waiting, int):
            report.stream_waits_unexplained += 1
            continue
        device = detail.device or 0
        record = calls.get(detail.wait_on_record if detail.wait_on_record is not None else -1)
        record = record or records.before(wait) or wait  # unnamed: the last record
        source = queues.last_before((device, awaited), record.start - origin)
        target = queues.first_after((device, waiting), wait.start - origin)
        if source is None or target is None:
            report.stream_waits_idle += 1
        else:
            _wait(target, source, report)


def _wait(target: DeviceOp, source: DeviceOp, report: LinkReport) -> bool:
    if source.end_ns > target.start_ns + _NOISE_NS or source.start_ns > target.start_ns:
        report.stream_waits_unexplained += 1
        report.clock_problems += 1
        return False
    report.stream_waits_explained += 1
    if source.id not in target.after and source.id != target.id:
        target.after.append(source.id)
    return True


COLLECTIVES = ("nccl", "rccl", "oneccl")
"""How kernels of collectives begin."""


def is_collective(op: DeviceOp) -> bool:
    return op.name.startswith(COLLECTIVES)


def inferred_waits(
    calls: list[Event],
    records: Records,
    queues: Queues,
    origin: int,
    named: dict[int, DeviceOp | None],
    report: LinkReport,
) -> None:
    """Add to `after` what calls of cudaStreamWaitEvent must have meant.

    `calls`: the waits, by start. The waiting stream is that of the thread's next launch, else its
    last. It waits for, in this order: what `named` says (by index of the operator around the call;
    None: issued before the trace); an op last on its stream when an event was recorded, or an
    unawaited collective, whose end explains the waiting op's start; for other ops than collectives,
    the oldest unawaited collective; the last op on the thread's other stream. What the measured
    times contradict is left out.
    """
    waits = _Inferred(records, queues, origin)
    for call in calls:
        report.stream_waits += 1
        time = call.start - origin
        tid = call.tid if isinstance(call.tid, int) else -1
        target = queues.thread_after(tid, time) or _next_on_its_stream(queues, tid, time)
        if target is None or (call.owner in named and named[call.owner] is None):
            report.stream_waits_idle += 1
            continue
        source = named.get(call.owner) or waits.source(call, tid, target)
        if source is None and waits.nothing_left(target, time):
            report.stream_waits_idle += 1
            continue
        if source is None or source.stream == target.stream or not _consistent(source, target):
            report.stream_waits_unexplained += 1
            continue
        report.stream_waits_explained += 1
        waits.collectives.close(source)
        if source.id not in target.after:
            target.after.append(source.id)


class _Inferred:
    def __init__(self, records: Records, queues: Queues, origin: int) -> None:
        self.records = records
        self.queues = queues
        self.origin = origin
        self.collectives = _Open(queues.ops)

    def source(self, call: Event, tid: int, target: DeviceOp) -> DeviceOp | None:
        time = call.start - self.origin
        explained = self._explained(call, target)
        if explained is not None:
            return explained
        oldest = None if is_collective(target) else self.collectives.oldest(time)
        return oldest or _other_before(self.queues, tid, target, time)

    def nothing_left(self, target: DeviceOp, time: int) -> bool:
        return self.collectives.all_awaited(time) or not self.queues.others_before(target, time)

    def _explained(self, call: Event, target: DeviceOp) -> DeviceOp | None:
        time = call.start - self.origin
        record = self.records.before(call)
        recorded = time if record is None else record.start - self.origin
        ready = max(self.queues.ended_before(target), target.launch_end_ns or 0)
        candidates = [
            self.queues.last_before(place, recorded)
            for place in self.queues.places()
            if place != (target.device, target.stream)
        ]
        candidates += self.collectives.open_before(time)
        if target.start_ns - ready > _PROMPT_NS:  # it must be the last
            candidates += self.queues.ended_last(target, time)
        found = [
            op
            for op in candidates
            if op is not None
            and ready < op.end_ns
            and -_NOISE_NS <= target.start_ns - op.end_ns <= _PROMPT_NS
        ]
        return max(found, key=_end, default=None)


class _Open:
    def __init__(self, ops: Ops) -> None:
        found = (ops.at(op) for op in ops.named(COLLECTIVES) if ops.launched[op])
        self.queue = list(found)
        self.queue.sort(key=_launch)
        self.places = {op.id: index for index, op in enumerate(self.queue)}
        self.first = 0

    def open_before(self, time: int) -> list[DeviceOp]:
        # The latest of those launched before `time`.
        until = bisect_left(self.queue, time, key=_launch)
        return self.queue[max(self.first, until - _FEW) : until]

    def oldest(self, time: int) -> DeviceOp | None:
        until = bisect_left(self.queue, time, key=_launch)
        return self.queue[self.first] if self.first < until else None

    def all_awaited(self, time: int) -> bool:
        # Some were launched before `time`, and none is left.
        return 0 < bisect_left(self.queue, time, key=_launch) <= self.first

    def close(self, op: DeviceOp) -> None:
        # All before `op` have been awaited with it.
        if op.id in self.places:
            self.first = max(self.first, self.places[op.id] + 1)


def _end(op: DeviceOp) -> tuple[int, int]:
    return op.end_ns, op.id


def _next_on_its_stream(queues: Queues, tid: int, time: int) -> DeviceOp | None:
    used = queues.thread_before(tid, time)
    while used is not None and is_collective(used):
        used = queues.thread_before(tid, _launch(used))
    return used and queues.first_after((used.device, used.stream), time)


def _other_before(queues: Queues, tid: int, target: DeviceOp, time: int) -> DeviceOp | None:
    used = queues.thread_before(tid, time)
    while used is not None and (is_collective(used) or used.stream == target.stream):
        used = queues.thread_before(tid, _launch(used))
    return used and queues.last_before((used.device, used.stream), time)


def _consistent(source: DeviceOp, target: DeviceOp) -> bool:
    return source.start_ns < target.start_ns and source.end_ns <= target.start_ns + _NOISE_NS


def communicator_order(collectives: list[tuple[DeviceOp, str]], report: LinkReport) -> None:
    """Let every collective wait for the one issued before it in its communicator.

    `collectives`: kernels with their communicator's identity, "" if unknown.
    """
    last: dict[tuple[int, str], DeviceOp] = {}
    known = [(op, group) for op, group in collectives if group]
    known.sort(key=lambda pair: _issue(pair[0]))
    for op, group in known:
        before = last.get((op.device, group))
        last[op.device, group] = op
        if before is None or before.id in op.after:
            continue
        if _consistent(before, op):
            op.after.append(before.id)
        else:
            report.clock_problems += 1


def _issue(op: DeviceOp) -> int:
    return op.start_ns if op.launch_start_ns is None else op.launch_start_ns
