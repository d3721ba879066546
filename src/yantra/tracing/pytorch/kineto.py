"""Device traces: what the PyTorch profiler (Kineto) exports, from NVIDIA, AMD or CPU-only runs.

Events on a time axis, without the tensors. Only the fields that linking uses are decoded. Times
are kept to the nanosecond: Kineto writes microseconds, whole or with three decimals; a double holds
those exactly up to 2^43 us, which is why Kineto subtracts `baseTimeNanoseconds`; larger fractional
times are read a second time as decimals.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct, field

from yantra.base.errors import TraceError, expected_got
from yantra.chakra import files
from yantra.tracing.pytorch import json_input
from yantra.tracing.pytorch.linked import CommArgs, ProcessGroup

WHAT = "PyTorch profiler trace (Kineto)"
_LIST = re.compile(rb"\s*\[")
CPU_CATS = frozenset({"cpu_op", "user_annotation"})
CALL_CATS = frozenset(
    {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "mtia_runtime"}
    | {"privateuse1_runtime", "privateuse1_driver"}
)
DEVICE_CATS = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
SYNC_CATS = frozenset({"cuda_sync"})
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


class KinetoTrace(Struct):
    """The events linking uses, by kind, each in order of (start, longest first).

    `forward` and `backward` are the two ends of the fwdbwd flows. `rank` and `world_size` are None
    where the trace does not tell.
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
    traceEvents: list[Event] | None = None  # noqa: N815
    distributedInfo: _Distributed | None = None  # noqa: N815
    baseTimeNanoseconds: int | None = None  # noqa: N815


class _ExactTime(Struct, gc=False):
    ts: Decimal | None = None


class _ExactFile(Struct):
    traceEvents: list[_ExactTime] = []  # noqa: N815


def read(path: str) -> KinetoTrace:
    """Read the device trace at `path`, plain or gzip.

    Raises TraceError when the file is no Kineto trace or an event lacks what its kind needs.
    """
    return parse(files.load(path), path)


def parse(data: bytes, where: str) -> KinetoTrace:
    """Read a device trace from the bytes of its file; `where` names it in errors."""
    bare = _LIST.match(data) is not None
    if bare:
        file = _File(traceEvents=json_input.decode(data, list[Event], where, WHAT))
    else:
        file = json_input.decode(data, _File, where, WHAT)
    if file.traceEvents is None:
        raise TraceError(f"{where}: has no field 'traceEvents'; expected a {WHAT}")
    trace = _by_kind(file.traceEvents)
    _set_times(trace, where, data, bare)
    for events in (trace.cpu, trace.calls, trace.device, trace.syncs):
        events.sort(key=_order)
    info = file.distributedInfo or _Distributed()
    trace.base_ns = file.baseTimeNanoseconds or 0
    trace.rank = info.rank
    trace.world_size = info.world_size
    trace.groups = _groups(info, where)
    return trace


def _by_kind(events: list[Event]) -> KinetoTrace:
    trace = KinetoTrace([], [], [], [], [], [])
    flows = {"s": trace.forward, "f": trace.backward}
    homes = dict.fromkeys(CPU_CATS, trace.cpu) | dict.fromkeys(CALL_CATS, trace.calls)
    homes |= dict.fromkeys(DEVICE_CATS, trace.device) | dict.fromkeys(SYNC_CATS, trace.syncs)
    for index, event in enumerate(events):
        event.index = index
        cat = event.cat
        if event.ph == "X" and cat is not None:
            home = homes.get(cat)
            if home is not None:
                home.append(event)
        elif cat == "fwdbwd" and event.ph in flows:
            flows[event.ph].append(event)
    return trace


def _set_times(trace: KinetoTrace, where: str, data: bytes, bare: bool) -> None:
    """Set `start` and `end` of every event, exact to the nanosecond."""
    inexact = False
    for events in trace.lists():
        for event in events:
            ts = event.ts
            if type(ts) is int:
                start = ts * 1000
            elif isinstance(ts, float) and -_EXACT_US < ts < _EXACT_US:
                whole = int(ts)
                start = whole * 1000 + round((ts - whole) * 1000)
            elif isinstance(ts, float) and isfinite(ts):
                inexact = True
                start = round(ts) * 1000
            else:
                raise _bad(where, event, "ts", "a number of microseconds", ts)
            dur = event.dur or 0
            if not -_LARGEST_NS < start < _LARGEST_NS:
                raise _bad(where, event, "ts", "microseconds of this age", ts)
            if not 0 <= dur < _LONGEST_US:
                raise _bad(where, event, "dur", "microseconds from 0 up", dur)
            event.start = start
            event.end = start + (dur * 1000 if type(dur) is int else round(dur * 1000))
    if inexact:
        _set_exact_times(trace, where, data, bare)


def _set_exact_times(trace: KinetoTrace, where: str, data: bytes, bare: bool) -> None:
    """Read all times once more, as decimals, where doubles are too short for them."""
    if bare:
        exact = json_input.decode(data, list[_ExactTime], where, WHAT)
    else:
        exact = json_input.decode(data, _ExactFile, where, WHAT).traceEvents
    for events in trace.lists():
        for event in events:
            span = event.end - event.start
            time = exact[event.index].ts
            if time is None or not time.is_finite():
                raise _bad(where, event, "ts", "a number of microseconds", str(time))
            event.start = round(time * 1000)
            event.end = event.start + span


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


def _bad(where: str, event: Event, name: str, expected: str, got: object) -> TraceError:
    return TraceError(
        f"{where} at $.traceEvents[{event.index}].{name}: {expected_got(expected, got)}; "
        f"the event is a {event.cat} called {event.name}"
    )
