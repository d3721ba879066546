"""A Kineto trace as upstream's linker sees it: operators, launches, device ops.

Source: MLCommons Chakra 1.0.0 (21585d8), loader of device traces and linker.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from yantra.base.documents import json_value
from yantra.base.errors import TraceError, show
from yantra.chakra import files

Time = int | float

_THREAD_GAP_US = 1000
_FAR = 1e18
_LAUNCHES = frozenset(
    (
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaMemcpy",
        "cudaMemcpyAsync",
        "cudaMemcpyFromSymbol",
        "cudaMemcpyToSymbol",
        "cudaLaunchCooperativeKernel",
        "hipLaunchKernel",
        "hipExtLaunchKernel",
        "hipExtModuleLaunchKernel",
        "hipModuleLaunchKernel",
        "hipMemcpyWithStream",
        "hipMemcpyAsync",
    )
)


Label = int | float | str | None


class Args(msgspec.Struct, gc=False, frozen=True):
    """Arguments of an event that linking needs; None where missing."""

    external: Any = msgspec.field(name="External id", default=None)
    correlation: Label = -1
    stream: Any = None
    record: Label = msgspec.field(name="Record function id", default=None)
    group: Any = msgspec.field(name="Process Group Name", default=None)
    wait_on_stream: Any = -1
    wait_on_cuda_event_record_corr_id: Label = -1


_NO_ARGS = Args()


class Event(msgspec.Struct, gc=False):
    """One of `traceEvents`; times in microseconds."""

    ph: Any = None
    cat: str | None = None
    name: str = ""
    pid: Label = 0
    tid: Label = 0
    ts: Time | None = None
    dur: Time | None = None
    args: Args = _NO_ARGS

    @property
    def start(self) -> Time:
        return 0 if self.ts is None else self.ts

    @property
    def lasts(self) -> Time:
        return 0 if self.dur is None else self.dur

    @property
    def external(self) -> int:
        value = self.args.external
        return -1 if value is None else int(value)


class _Trace(msgspec.Struct):
    traceEvents: list[Event]  # noqa: N815, the name in the file


class CpuOp(msgspec.Struct, gc=False):
    """A host operator: its times and what linking finds."""

    name: str
    ts: Time
    dur: Time
    exclusive: Time
    external: int
    tid: Any
    record: Any
    thread_dep: Any = (
        None  # `record` of another thread's operator that ran before a pause of this one
    )
    host: int | None = None  # id of the linked operator in the host trace


def read_events(path: str) -> list[Event]:
    """All events of a device trace, in file order. Raises TraceError."""
    data = files.load(path)
    try:
        events = _decoded(data).traceEvents
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise TraceError(
            f"{path}: not a Kineto trace: {error}; expected a JSON object with `traceEvents`, as "
            "torch.profiler's export_chrome_trace writes"
        ) from None
    for event in events:
        _check(path, event)
    return events


def _decoded(data: bytes) -> _Trace:
    try:
        return msgspec.json.decode(data, type=_Trace)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        if isinstance(error, msgspec.ValidationError) and "out of range" not in str(error):
            raise
    return msgspec.convert(json_value(data), _Trace)  # NaN, numbers beyond a double


def _check(path: str, event: Event) -> None:
    if not (-_FAR < event.start < _FAR and -_FAR < event.lasts < _FAR):
        raise TraceError(
            f"{path}: event {event.name!r}: `ts` and `dur` expected numbers of microseconds, got "
            f"{event.ts} and {event.dur}"
        )
    value = event.args.external
    if value is None or type(value) is int:
        return
    try:
        int(value)
    except (TypeError, ValueError, OverflowError):
        raise TraceError(
            f"{path}: event {event.name!r}: `External id` expected an integer, got {show(value)}"
        ) from None


class Device:
    """Events of a device trace, indexed for linking.

    Raises TraceError where upstream gives up: two launches with one correlation id, or children
    that last longer than their operator.
    """

    def __init__(self, events: Iterable[Event], where: str) -> None:
        self.by_time = sorted(events, key=_start)
        self.cpu: list[CpuOp] = []
        self.gpu: list[Event] = []
        self.launches: dict[Any, Event] = {}
        self.threads: dict[Any, list[CpuOp]] = {}
        for event in self.by_time:
            self._sort_in(event, where)
        for ops in self.threads.values():
            exclusive_durations(ops, where)
        order_threads(self.threads)
        self.by_record = {op.record: op for op in self.cpu if op.record is not None}

    def _sort_in(self, event: Event, where: str) -> None:
        cat = event.cat
        if cat in ("cpu_op", "user_annotation") and "ProfilerStep" not in event.name:
            dur = event.lasts
            op = CpuOp(
                event.name, event.start, dur, dur, event.external, event.tid, event.args.record
            )
            self.cpu.append(op)
            self.threads.setdefault(op.tid, []).append(op)
        elif cat in ("cuda_runtime", "cuda_driver") and event.name in _LAUNCHES:
            correlation = event.args.correlation
            if correlation in self.launches:
                raise TraceError(
                    f"{where}: two launches, {self.launches[correlation].name!r} and "
                    f"{event.name!r}, have the correlation id {show(correlation)}; upstream's "
                    "linker needs one launch per id: link without --compat upstream"
                )
            self.launches[correlation] = event
        elif cat in ("kernel", "gpu_memcpy"):
            self.gpu.append(event)

    def gpu_by_parent(self) -> dict[int, list[Event]]:
        """A parent is the last operator on the launching thread that starts before the launch and
        has the device op's External id, else the thread's last, ended or not.
        """
        index = _ParentIndex(self._with_roots())
        groups: dict[int, list[Event]] = {}
        for event in self.gpu:
            launch = self.launches.get(event.args.correlation)
            parent = launch and index.find(event, launch)
            if parent:
                groups.setdefault(parent.external, []).append(event)
        return groups

    def _with_roots(self) -> list[CpuOp]:
        """Upstream adds a root for the process and one per thread, all on thread 0, without
        External id: only launches there can have them as parents.
        """
        if all(launch.tid != 0 for launch in self.launches.values()):
            return self.cpu
        begins: dict[Any, Time] = {}
        for event in self.by_time:
            if event.tid is not None:
                begins.setdefault(event.tid, event.start)
        ops = [_root("process", min(begins.values())), *self.cpu]
        for tid, begin in begins.items():
            place = (i for i, op in enumerate(ops) if op.tid == tid and op.ts >= begin)
            ops.insert(next(place, len(ops)), _root("thread", begin))
        return sorted(ops, key=_ts)


class _ParentIndex:
    def __init__(self, ops: list[CpuOp]) -> None:
        self.ops = ops
        self.times = [op.ts for op in ops]
        self.places = _places(ops, ())
        self.nccl_places = self.places
        if any(op.name == "nccl:coalesced" for op in ops):
            self.nccl_places = _places(ops, ("nccl:coalesced",))

    def find(self, event: Event, launch: Event) -> CpuOp | None:
        before = bisect_left(self.times, launch.start)
        places = self.nccl_places if "nccl" in event.name.lower() else self.places
        for key in ((launch.tid, event.external), launch.tid):
            found = places.get(key, ())
            last = bisect_left(found, before) - 1
            if last >= 0:
                return self.ops[found[last]]
        return None


def _places(ops: Sequence[CpuOp], left_out: tuple[str, ...]) -> dict[Any, list[int]]:
    places: dict[Any, list[int]] = {}
    for place, op in enumerate(ops):
        if op.name not in left_out:
            places.setdefault(op.tid, []).append(place)
            places.setdefault((op.tid, op.external), []).append(place)
    return places


def exclusive_durations(ops: Sequence[CpuOp], where: str) -> None:
    """Set `exclusive` of one thread's operators: `dur` less the operators inside.

    Inside comes later by (start, duration) and ends no later: of two that start together the
    shorter is not inside. All up to `following[i]`, the next to end after i, are within i, so the
    walk steps from child to child. Sums keep upstream's order, for equal rounding.
    """
    ops = sorted(ops, key=_ts_and_dur)
    ends = [op.ts + op.dur for op in ops]
    following = _next_greater(ends)
    for i, op in enumerate(ops):
        end = ends[i]
        child = i + 1
        begin = until = None
        while child < len(ops) and (ts := ops[child].ts) <= end:
            if ends[child] > end:
                child += 1
                continue
            if until is None or ts > until:
                if begin is not None and until is not None:
                    op.exclusive -= until - begin
                begin, until = ts, ends[child]
            else:
                until = max(until, ends[child])
            child = following[child]
        if begin is not None and until is not None:
            op.exclusive -= until - begin
        if op.exclusive < 0:
            raise TraceError(
                f"{where}: the operators inside {op.name!r} at {op.ts} us last longer than itself "
                f"({op.dur} us), which upstream's linker refuses: link without --compat upstream"
            )


def _next_greater(values: Sequence[Time]) -> list[int]:
    found = [len(values)] * len(values)
    waiting: list[int] = []
    for place, value in enumerate(values):
        while waiting and values[waiting[-1]] < value:
            found[waiting.pop()] = place
        waiting.append(place)
    return found


def order_threads(threads: dict[Any, list[CpuOp]]) -> None:
    """Set `thread_dep`: what another thread began last before this one resumed after a pause.

    A pause: the thread's begin, or over 1 ms from an end to the next start.
    """
    times = {tid: [op.ts for op in ops] for tid, ops in threads.items()}
    for tid, ops in threads.items():
        record = None
        for i, op in enumerate(ops):
            if i == 0 or op.ts - ops[i - 1].ts - ops[i - 1].dur > _THREAD_GAP_US:
                record = _last_record(threads, times, tid, op.ts)
            if record:
                op.thread_dep = record


def _last_record(
    threads: dict[Any, list[CpuOp]], times: dict[Any, list[Time]], but: Any, before: Time
) -> Any:
    latest: Time = 0
    record = None
    for tid, begins in times.items():
        place = bisect_left(begins, before) - 1
        if tid != but and place >= 0 and begins[place] > latest:
            latest = begins[place]
            record = threads[tid][bisect_left(begins, latest)].record
    return record


def _root(kind: str, begin: Time) -> CpuOp:
    return CpuOp(f"[pytorch|profiler|execution_trace|{kind}]", begin, 0, 0, -1, 0, None)


def _start(event: Event) -> Time:
    return event.start


def _ts(op: CpuOp) -> Time:
    return op.ts


def _ts_and_dur(op: CpuOp) -> tuple[Time, Time]:
    return op.ts, op.dur
