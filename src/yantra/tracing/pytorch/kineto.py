"""Device traces: what the PyTorch profiler (Kineto) exports, from NVIDIA, AMD or CPU-only runs.

Events on a time axis, without the tensors. Only the fields that linking uses are decoded. Times
are kept to the nanosecond: Kineto writes microseconds, whole or with three decimals; a double holds
those exactly up to 2^43 us, which is why Kineto subtracts `baseTimeNanoseconds`; larger fractional
times are read a second time as decimals.

One event that cannot be is left out and reported, for a trace has hundreds of thousands. Categories
that are not read are counted, so that nobody takes an empty result for an idle device.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from yantra.base.errors import TraceError, expected_got
from yantra.chakra import files
from yantra.tracing.pytorch import json_input
from yantra.tracing.pytorch.left_out import LeftOut, one_by_one
from yantra.tracing.pytorch.linked import CommArgs, ProcessGroup

WHAT = "PyTorch profiler trace (Kineto)"
_LIST = re.compile(rb"\s*\[")
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_BEGIN = 1 << 20
CPU_CATS = frozenset({"cpu_op", "user_annotation"})
CALL_CATS = frozenset(
    {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "mtia_runtime"}
    | {"privateuse1_runtime", "privateuse1_driver"}
)
DEVICE_CATS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
SYNC_CATS = frozenset({"cuda_sync"})
_NAMES_OF_2021 = {  # what PyTorch 1.8 called them
    "Operator": "cpu_op",
    "Runtime": "cuda_runtime",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
}
# Frames of Python, ranges copied to the device's rows, the profiler's own time: no work is in them.
_ASIDE = frozenset({"python_function", "gpu_user_annotation", "overhead", "Trace"})
_EXACT_US = 1 << 43  # beyond this a double has no room for nanoseconds
_LARGEST_NS = 1 << 62
_LONGEST_US = _LARGEST_NS / 2000


class Args(Struct, gc=False):
    """The fields of an event's `args` that linking uses."""

    external_id: int | None = field(default=None, name="External id")
    rf_id: int | None = field(default=None, name="Record function id")
    seq_id: int | None = field(default=None, name="Sequence number")
    fw_tid: int | None = field(default=None, name="Fwd thread id")
    correlation: int | None = None
    stream: int | str | None = None  # of a HIP call: a pointer, "0x0"
    device: int | None = None
    bytes: int | None = None
    sync_kind: str | None = field(default=None, name="cuda_sync_kind")
    wait_on_stream: int | None = None
    wait_on_record: int | None = field(default=None, name="wait_on_cuda_event_record_corr_id")
    collective: str | None = field(default=None, name="Collective name")
    in_nelems: int | None = field(default=None, name="In msg nelems")
    out_nelems: int | None = field(default=None, name="Out msg nelems")
    dtype: str | None = None
    in_splits: Any = field(default=None, name="In split size")
    out_splits: Any = field(default=None, name="Out split size")
    group_name: str | int | None = field(default=None, name="Process Group Name")
    group_desc: str | None = field(default=None, name="Process Group Description")
    group_size: int | None = field(default=None, name="Group size")
    group_ranks: Any = field(default=None, name="Process Group Ranks")
    src_rank: int | None = field(default=None, name="Src Rank")
    dst_rank: int | None = field(default=None, name="Dst Rank")
    sequence: int | None = field(default=None, name="Seq")

    def comm(self) -> CommArgs | None:
        """Return what is said of a collective, None if nothing is."""
        if self.collective is None and self.group_name is None:
            return None
        return CommArgs(
            collective=self.collective or "",
            in_nelems=self.in_nelems,
            out_nelems=self.out_nelems,
            dtype=self.dtype or "",
            in_splits=_text(self.in_splits),
            out_splits=_text(self.out_splits),
            group_name=_text(self.group_name),
            group_desc=self.group_desc or "",
            group_size=self.group_size,
            ranks=_text(self.group_ranks),
            src_rank=self.src_rank,
            dst_rank=self.dst_rank,
            sequence=self.sequence,
        )


_NO_ARGS = Args()
_NO_LIST = Raw(b"[]")


class ShapedArgs(Args, gc=False):
    """The same with what the profiler knows of an operator's inputs, as the file's own JSON."""

    dims: Raw = field(default=_NO_LIST, name="Input Dims")
    types: Raw = field(default=_NO_LIST, name="Input type")
    concrete: Raw = field(default=_NO_LIST, name="Concrete Inputs")


class Event(Struct, gc=False):
    """One event; `start` and `end` are nanoseconds since the trace's base time.

    `index` is its place in the file. `owner` is for the linker: the index of the innermost operator
    around a call, -1 for none.
    """

    ph: str = ""
    cat: str | None = None
    name: str | None = None
    pid: Any = None
    tid: Any = None
    ts: float | int | None = None
    dur: float | int | None = None
    id: Any = None
    args: Args | None = None
    start: int = field(default=0, name="yantra start")
    end: int = field(default=0, name="yantra end")
    index: int = field(default=0, name="yantra index")
    owner: int = field(default=-1, name="yantra owner")

    @property
    def detail(self) -> Args:
        """The event's args; empty if it has none."""
        return self.args or _NO_ARGS


class ShapedEvent(Event, gc=False):
    """One event with what is known of an operator's inputs."""

    args: ShapedArgs | None = None


class KinetoTrace(Struct):
    """The events linking uses, by kind, each in order of (start, longest first).

    `forward` and `backward` are the two ends of the fwdbwd flows. `rank` and `world_size` are None
    where the trace does not tell. `unread` counts the events of categories that are not read;
    `problems` are sentences about events that were left out.
    """

    cpu: list[Event]
    calls: list[Event]
    device: list[Event]
    syncs: list[Event]
    forward: list[Event]
    backward: list[Event]
    base_ns: int = 0
    rank: int | None = None
    world_size: int | None = None
    groups: list[ProcessGroup] = field(default_factory=list)
    unread: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def lists(self) -> tuple[list[Event], ...]:
        """Return all lists of events."""
        return self.cpu, self.calls, self.device, self.syncs, self.forward, self.backward


class _Group(Struct):
    pg_name: str | int = ""
    pg_desc: str = ""
    backend_config: str = ""
    pg_size: int = 0
    ranks: list[int] = field(default_factory=list)


class _Distributed(Struct):
    rank: int | None = None
    world_size: int | None = None
    pg_config: list[_Group] | str | None = None


class _File(Struct):
    distributedInfo: _Distributed | None = None  # noqa: N815
    baseTimeNanoseconds: int | None = None  # noqa: N815


class _Events(_File):
    traceEvents: list[Event] | None = None  # noqa: N815


class _ShapedEvents(_File):
    traceEvents: list[ShapedEvent] | None = None  # noqa: N815


class _RawEvents(_File):
    traceEvents: list[Raw] | None = None  # noqa: N815


class _Time(Struct, gc=False):
    ts: Raw = Raw(b"null")


def read(path: str, *, shapes: bool = False) -> KinetoTrace:
    """Read the device trace at `path`, plain or gzip; with `shapes`, the operators' inputs too.

    Raises TraceError when the file is no Kineto trace or holds nothing that can be read.
    """
    return parse(files.load(path), path, shapes=shapes)


def is_one(path: str) -> bool:
    """Whether the file seems to be a device trace: a list, or an object that has events.

    Only its beginning is looked at. A file that cannot be read is left to who reads it.
    """
    try:
        with open(path, "rb") as raw:
            packed = raw.read(2) == files.GZIP
            raw.seek(0)
            begin = (gzip.GzipFile(fileobj=raw) if packed else raw).read(_BEGIN)
    except (OSError, EOFError):
        return False
    return _LIST.match(begin) is not None or _EVENTS.search(begin) is not None


def parse(data: bytes, where: str, *, shapes: bool = False) -> KinetoTrace:
    """Read a device trace from the bytes of its file; `where` names it in errors."""
    left_out = LeftOut(where)
    file, events = _decoded(data, where, ShapedEvent if shapes else Event, left_out)
    trace = _by_kind(events)
    _set_times(trace, data, left_out)
    for kind in (trace.cpu, trace.calls, trace.device, trace.syncs):
        kind.sort(key=_order)
    trace.problems = left_out.problems()
    _check_read(trace, where, left_out)
    info = file.distributedInfo or _Distributed()
    trace.base_ns = file.baseTimeNanoseconds or 0
    trace.rank = info.rank
    trace.world_size = info.world_size
    trace.groups = _groups(info, where)
    return trace


def _decoded(
    data: bytes, where: str, kind: type[Event], left_out: LeftOut
) -> tuple[_File, list[Any]]:
    """Return the file without and with its events, None in the place of those left out."""
    of = _ShapedEvents if kind is ShapedEvent else _Events
    try:
        file = _whole(data, where, of)
        events: list[Any] | None = file.traceEvents
    except TraceError as error:
        try:
            raw = _whole(data, where, _RawEvents)
        except TraceError:
            raise error from None
        file, events = raw, one_by_one(raw.traceEvents or [], kind, left_out)
    if events is None:
        raise TraceError(f"{where}: has no field 'traceEvents'; expected a {WHAT}")
    return file, events


def _whole(data: bytes, where: str, of: Any) -> Any:
    """Decode a file, an object or the bare list of its events, as `of`."""
    if _LIST.match(data) is None:
        return json_input.decode(data, of, where, WHAT)
    kind = next(field.type for field in msgspec.structs.fields(of) if field.name == "traceEvents")
    return of(traceEvents=json_input.decode(data, kind, where, WHAT))


def _by_kind(events: list[Event | None]) -> KinetoTrace:
    trace = KinetoTrace([], [], [], [], [], [])
    flows = {"s": trace.forward, "f": trace.backward}
    homes = dict.fromkeys(CPU_CATS, trace.cpu) | dict.fromkeys(CALL_CATS, trace.calls)
    homes |= dict.fromkeys(DEVICE_CATS, trace.device) | dict.fromkeys(SYNC_CATS, trace.syncs)
    homes |= {old: homes[new] for old, new in _NAMES_OF_2021.items()}
    unread: Counter[str] = Counter()
    for index, event in enumerate(events):
        if event is None:
            continue
        event.index = index
        cat = event.cat
        if type(event.tid) is str and event.tid.isdecimal():  # in 2021 threads were texts
            event.tid = int(event.tid)
        if event.ph == "X" and cat is not None:
            home = homes.get(cat)
            if home is not None:
                event.cat = _NAMES_OF_2021.get(cat, cat)
                home.append(event)
            elif cat not in _ASIDE:
                unread[cat] += 1
        elif cat == "fwdbwd" and event.ph in flows:
            flows[event.ph].append(event)
    trace.unread = dict(unread)
    return trace


def _check_read(trace: KinetoTrace, where: str, left_out: LeftOut) -> None:
    """Raise TraceError when a trace has events, and none of them can be read."""
    if any(trace.lists()):
        return
    if left_out.reasons:
        raise TraceError(left_out.reasons[0])
    if trace.unread:
        seen = ", ".join(f"{name} ({count})" for name, count in trace.unread.items())
        known = ", ".join(sorted(CPU_CATS | DEVICE_CATS))
        raise TraceError(
            f"{where}: no event is of a category that is read; expected {known} and calls of the "
            f"runtime, got {seen}; this is no {WHAT}, or of an accelerator that is not read yet"
        )


def _set_times(trace: KinetoTrace, data: bytes, left_out: LeftOut) -> None:
    """Set `start` and `end` of every event, exact to the nanosecond; leave out those without."""
    inexact = False
    for events in trace.lists():
        good = []
        for event in events:
            ts, dur = event.ts, event.dur or 0
            if type(ts) is int:
                start = ts * 1000
            elif isinstance(ts, float) and -_EXACT_US < ts < _EXACT_US:
                whole = int(ts)
                start = whole * 1000 + round((ts - whole) * 1000)
            elif isinstance(ts, float) and isfinite(ts):
                inexact = True
                start = round(ts) * 1000
            else:
                _leave_out(left_out, event, "ts", "a number of microseconds", ts)
                continue
            if not -_LARGEST_NS < start < _LARGEST_NS:
                _leave_out(left_out, event, "ts", "microseconds of this age", ts)
            elif not 0 <= dur < _LONGEST_US:
                _leave_out(left_out, event, "dur", "microseconds from 0 up", dur)
            else:
                event.start = start
                event.end = start + (dur * 1000 if type(dur) is int else round(dur * 1000))
                good.append(event)
        if len(good) < len(events):
            events[:] = good
    if inexact:
        _set_exact_times(trace, data, left_out.where)


def _set_exact_times(trace: KinetoTrace, data: bytes, where: str) -> None:
    """Read all times once more, as decimals, where doubles are too short for them."""
    raw = _whole(data, where, _RawEvents).traceEvents
    decoder = msgspec.json.Decoder(_Time)
    for events in trace.lists():
        for event in events:
            span = event.end - event.start
            text = bytes(decoder.decode(raw[event.index]).ts).decode().strip('"')
            event.start = round(Decimal(text) * 1000)
            event.end = event.start + span


def _leave_out(left_out: LeftOut, event: Event, name: str, expected: str, got: object) -> None:
    problem = expected_got(expected, got)
    left_out.add(
        f"[{event.index}].{name}", f"{problem}; the event is a {event.cat} called {event.name}"
    )


def _order(event: Event) -> tuple[int, int, int]:
    return event.start, -event.end, event.index


def _groups(info: _Distributed, where: str) -> list[ProcessGroup]:
    config = info.pg_config
    if isinstance(config, str):
        config = json_input.decode(
            config.encode() or b"[]", list[_Group], f"{where} at $.distributedInfo.pg_config", WHAT
        )
    return [
        ProcessGroup(str(group.pg_name), group.pg_desc, group.backend_config, group.ranks)
        for group in config or []
    ]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
