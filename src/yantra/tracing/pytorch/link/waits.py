"""Calls that block a thread until device ops end, and which ops those are.

CUDA synchronisation events name them. Otherwise a device wait, by the call's name, is certain;
streams and events are inferred: what ended last during the call.

An awaited op was launched before the call and ended before it returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from yantra.tracing.pytorch.event_columns import flags
from yantra.tracing.pytorch.events import Event
from yantra.tracing.pytorch.link.launches import ByCorrelation
from yantra.tracing.pytorch.link.ops import Ops
from yantra.tracing.pytorch.link.streams import Place, Queues
from yantra.tracing.pytorch.linked import DeviceOp, LinkReport, Wait

DEVICE_CALLS = frozenset({"cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize"})
STREAM_CALLS = frozenset({"cudaStreamSynchronize", "cuStreamSynchronize", "hipStreamSynchronize"})
EVENT_CALLS = frozenset({"cudaEventSynchronize", "cuEventSynchronize", "hipEventSynchronize"})
SYNC_CALLS = DEVICE_CALLS | STREAM_CALLS | EVENT_CALLS
_NOISE_NS = 1000


class Waits:
    def __init__(self, queues: Queues, origin: int, report: LinkReport) -> None:
        self.queues = queues
        self.origin = origin
        self.report = report
        self.found: list[Wait] = []

    def recorded(self, syncs: Sequence[Event], calls: ByCorrelation) -> None:
        for sync in syncs:
            detail = sync.detail
            if detail.sync_kind == "Stream Wait Event":
                continue
            call = calls.get(detail.correlation if detail.correlation is not None else -1)
            if call is None:
                self.report.waits += 1
                self.report.waits_unexplained += 1
                continue
            device = detail.device or 0
            known: list[DeviceOp] | None
            if detail.sync_kind == "Context Sync":
                places = [place for place in self.queues.places() if place[0] == device]
                known = self._last_of(places, call, call.start)
            elif detail.sync_kind == "Stream Sync":
                stream = detail.stream if isinstance(detail.stream, int) else -1
                known = self._last_of([(device, stream)], call, call.start)
            else:
                known = self._recorded_event(sync, call, calls)
            if known or "Query" not in (call.name or ""):  # a query does not wait
                self._add(call, known, "event")

    def _recorded_event(
        self, sync: Event, call: Event, calls: ByCorrelation
    ) -> list[DeviceOp] | None:
        """Old traces name the stream but not the record: what ended last there."""
        detail = sync.detail
        stream = detail.wait_on_stream
        if stream is None or stream < 0:
            return None
        place = (detail.device or 0, stream)
        if detail.wait_on_record is not None:
            record = calls.get(detail.wait_on_record)
            return self._last_of([place], call, record.start) if record else None
        return [op for op in self._candidates(call) if (op.device, op.stream) == place]

    def inferred(self, calls: Iterable[Event]) -> None:
        for call in calls:
            name = call.name or ""
            if name in DEVICE_CALLS:
                known: list[DeviceOp] | None = self._last_of(
                    self._places_of(call), call, call.start
                )
            elif name in STREAM_CALLS:
                known = self._stream_of(call)
            elif name in EVENT_CALLS:
                known = self._ended_during(call)
            else:
                continue
            self._add(call, known, "call")

    def blocking_copies(self, ops: Ops, calls: ByCorrelation) -> None:
        copies = flags(ops.texts, "gpu_memcpy".__eq__)[ops.cat]
        for at in np.flatnonzero(copies).tolist():
            if not _blocks(ops.texts[ops.name[at]], ops.launch_texts[ops.launch_name[at]]):
                continue
            op = ops.at(at)
            call = calls.get(op.correlation)
            if call is not None and op.end_ns <= call.end - self.origin + _NOISE_NS:
                self._add(call, [op], "call")

    def without_records(self, calls: Iterable[Event]) -> None:
        """Add blocking copies whose records, and so what they waited for, are lost."""
        for call in calls:
            self._add(call, None, "call")

    def _places_of(self, call: Event) -> list[Place]:
        places = self.queues.places()
        tid = call.tid if isinstance(call.tid, int) else -1
        used = self.queues.thread_before(tid, call.start - self.origin)
        return [place for place in places if used is None or place[0] == used.device]

    def _last_of(self, places: list[Place], call: Event, before: int) -> list[DeviceOp]:
        found = []
        for place in places:
            op = self.queues.last_before(place, before - self.origin)
            if op is not None:
                if op.end_ns <= call.end - self.origin + _NOISE_NS:
                    found.append(op)
                elif "Query" not in (call.name or ""):
                    self.report.clock_problems += 1
        return found

    def _candidates(self, call: Event) -> list[DeviceOp]:
        end = call.end - self.origin + _NOISE_NS
        start = call.start - self.origin
        last = (self.queues.last_before(place, start) for place in self.queues.places())
        return [op for op in last if op is not None and op.end_ns <= end]

    def _stream_of(self, call: Event) -> list[DeviceOp] | None:
        """The awaited op: of the thread's last stream, if its work was running as the call began or
        no other stream's was; else what ended last.
        """
        candidates = self._candidates(call)
        start = call.start - self.origin
        running = [op for op in candidates if op.end_ns > start]
        used = self.queues.thread_before(call.tid if isinstance(call.tid, int) else -1, start)
        for op in running or candidates:
            if used is not None and (op.device, op.stream) == (used.device, used.stream):
                return [op]
        if running:
            return [max(running, key=_end)]
        launched = any(self.queues.last_before(place, start) for place in self.queues.places())
        return None if launched and not candidates else []

    def _ended_during(self, call: Event) -> list[DeviceOp] | None:
        start = call.start - self.origin
        running = [op for op in self._candidates(call) if op.end_ns > start]
        return [max(running, key=_end)] if running else []

    def _add(self, call: Event, known: list[DeviceOp] | None, source: str) -> None:
        self.report.waits += 1
        if known is None:
            self.report.waits_unexplained += 1
        elif known:
            self.report.waits_explained += 1
        else:
            self.report.waits_idle += 1
        self.found.append(
            Wait(
                tid=call.tid if isinstance(call.tid, int) else -1,
                name=call.name or "",
                start_ns=call.start - self.origin,
                dur_ns=call.end - call.start,
                op=call.owner if call.owner >= 0 else None,
                after=[op.id for op in known or ()],
                source=source,
            )
        )


def is_blocking_copy(name: str) -> bool:
    return "Memcpy" in name and "Async" not in name


def merged(found: list[Wait]) -> list[Wait]:
    by_call: dict[tuple[int, int, int], Wait] = {}
    for wait in sorted(found, key=_begin):
        key = wait.tid, wait.start_ns, wait.dur_ns
        known = by_call.setdefault(key, wait)
        known.after += [op for op in wait.after if op not in known.after]
    return list(by_call.values())


def _begin(wait: Wait) -> tuple[int, int]:
    return wait.start_ns, wait.tid


def _blocks(name: str, call: str) -> bool:
    if "Async" not in call:
        return "DtoD" not in name
    return "Pageable" in name and ("DtoH" in name or "Device -> Pageable" in name)


def _end(op: DeviceOp) -> tuple[int, int]:
    return op.end_ns, op.id
