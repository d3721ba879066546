"""Device traces of the PyTorch profiler (Kineto): NVIDIA, AMD or CPU only.

Exact to the ns: Kineto writes us with no or three decimals, exact in a double up to 2^43 us (hence
`baseTimeNanoseconds`); larger fractions are read again as decimals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from operator import attrgetter
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import Raw, Struct, field

from yantra import _core
from yantra.base.errors import ConfigError, TraceError, expected_got
from yantra.base.regular import open_regular
from yantra.base.text import count
from yantra.base.unpacking import Unpacked, open_unpacked
from yantra.chakra import files
from yantra.chakra.other_formats import recognised
from yantra.tracing.pytorch import categories as cats
from yantra.tracing.pytorch import json_input
from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.event_columns import Events, distinct
from yantra.tracing.pytorch.events import Args, Event, ShapedArgs, ShapedEvent
from yantra.tracing.pytorch.json_list import REFUSED, Form, InCore, read_list, texts_of
from yantra.tracing.pytorch.left_out import LeftOut, one_by_one
from yantra.tracing.pytorch.linked import ProcessGroup
from yantra.tracing.pytorch.sorting import Sorted, by_kind, count_unsorted

__all__ = ["Args", "Event", "KinetoTrace", "ShapedArgs", "ShapedEvent", "is_one", "parse", "read"]

WHAT = "PyTorch profiler trace (Kineto)"
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
_LISTED = Form("traceEvents", b'"ph"')
_READ = ("cpu", "calls", "device", "syncs", "forward", "backward")  # as the core numbers them
_KINDS = (
    dict.fromkeys(cats.CPU_CATS, _READ.index("cpu"))
    | dict.fromkeys(cats.DEVICE_CATS, _READ.index("device"))
    | dict.fromkeys(cats.SYNC_CATS, _READ.index("syncs"))
    | dict.fromkeys(cats.ASIDE, len(_READ))
)
_LABEL = re.compile(r"(?:\[[^\]]*\])*\[[^\]]*\d[^\]]*\]")  # of a rank, before a process
_BEGIN = 1 << 20
_EXACT_US = 1 << 43  # beyond, a double has no nanoseconds
_LARGEST_NS = 1 << 62
_LONGEST_US = _LARGEST_NS / 2000


class KinetoTrace(Struct):
    """Events for linking by kind, by (start, longest first).

    `forward`, `backward`: ends of fwdbwd flows. `rank`, `world_size`: None if unknown. `unread`:
    counts by category; `uncategorised`: by process name. `unnamed`: correlations of waits whose
    awaited work is not said. `balance` counts all; `problems`: sentences about events left out.
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
    uncategorised: dict[str, int] = field(default_factory=dict)
    unnamed: set[int] = field(default_factory=set)
    balance: Sum = field(default_factory=Sum)
    problems: list[str] = field(default_factory=list)
    where: str = "link"

    def lists(self) -> tuple[list[Event], ...]:
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
    """Read a device trace, plain or gzip, in blocks if it is as usual.

    `shapes`: with operators' inputs. Raises TraceError when it is no Kineto trace or has nothing
    readable.
    """
    return _in_blocks(path, shapes) or parse(files.load(path), path, shapes=shapes)


def is_one(path: str) -> bool:
    """Whether the beginning looks like a device trace: a list, or an object with events."""
    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == files.GZIP
            raw.seek(0)
            begin = (Unpacked.of(raw, path) if packed else raw).read(_BEGIN)
    except (OSError, ConfigError):
        return False
    return _LIST.match(begin) is not None or _EVENTS.search(begin) is not None


def parse(data: bytes, where: str, *, shapes: bool = False) -> KinetoTrace:
    left_out = LeftOut(where)
    file, events = _decoded(data, where, ShapedEvent if shapes else Event, left_out)
    return _trace(file, events, lambda: data, left_out)


def _trace(
    file: _File, events: list[Any], data: Callable[[], bytes], left_out: LeftOut
) -> KinetoTrace:
    """Sort `events`, which are cleared; `data`: the file's content, if it is needed."""
    balance = Sum()
    made = by_kind(events, balance)
    trace = _made(made, balance, not events)
    events.clear()
    _set_times(trace, data, left_out)
    for kind in (trace.cpu, trace.calls, trace.device, trace.syncs):
        _sort(kind)
    return _told(trace, file, made.pairs, data, left_out)


def _made(made: Sorted, balance: Sum, is_empty: bool) -> KinetoTrace:
    cpu, calls, device, syncs, forward, backward = made.lists()
    trace = KinetoTrace(cpu, calls, device, syncs, forward, backward, balance=balance)
    trace.unread, trace.uncategorised = dict(made.unread), dict(made.uncategorised)
    if is_empty:
        trace.problems.append("the file holds no event")
    return trace


def _told(
    trace: KinetoTrace,
    file: _File,
    pairs: set[int],
    data: Callable[[], bytes],
    left_out: LeftOut,
) -> KinetoTrace:
    where = trace.where = left_out.where
    trace.problems[:0] = left_out.problems()
    _count(trace, pairs, left_out)
    _check_read(trace, where, left_out, data)
    _check_one_rank(trace, where)
    info = file.distributedInfo or _Distributed()
    trace.base_ns = file.baseTimeNanoseconds or 0
    trace.rank = info.rank
    trace.world_size = info.world_size
    trace.groups = _groups(info, where)
    return trace


def _in_blocks(path: str, shapes: bool) -> KinetoTrace | None:
    core = _core.KinetoFile(
        _KINDS, cats.CALL_ENDINGS, "".join(sorted(cats.FLOW_PHASES)), cats.DRAWN, shapes
    )
    try:
        with open_unpacked(path) as text:
            header = read_list(text, _LISTED, InCore(core), lambda _: None)
        file = msgspec.convert(header, _File)
        events = _columns(core)
    except (*REFUSED, OSError, ConfigError):
        return None
    balance = Sum(core.events)
    made = Sorted(**cast("dict[str, list[Event]]", events))  # type: ignore[arg-type]
    count_unsorted(core, made, balance)
    trace = _made(made, balance, not core.events)
    if _with_equal_numbers(trace.calls):
        return None
    return _told(trace, file, made.pairs, lambda: files.load(path), LeftOut(path))


def _columns(core: _core.KinetoFile) -> dict[str, Events]:
    if not core.finish():
        raise msgspec.ValidationError("times of two exactnesses")
    names = texts_of(core.names())
    found = {}
    for kind, called in enumerate(_READ):
        columns: dict[str, Any] = core.columns(kind)
        texts, columns["name"] = distinct(names, columns["name"])
        _, columns["cat"] = distinct(names, columns["cat"])
        found[called] = Events(columns, texts, core.arguments(kind), core.shapes())
    return found


def _decoded(
    data: bytes, where: str, kind: type[Event], left_out: LeftOut
) -> tuple[_File, list[Any]]:
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
        if profiler := recognised(data, where):
            raise TraceError(f"{where}: {profiler}")
        raise TraceError(f"{where}: has no field 'traceEvents'; expected a {WHAT}")
    return file, events


def _whole(data: bytes, where: str, of: Any) -> Any:
    if _LIST.match(data) is None:
        return json_input.decode(data, of, where, WHAT)
    kind = next(field.type for field in msgspec.structs.fields(of) if field.name == "traceEvents")
    return of(traceEvents=json_input.decode(data, kind, where, WHAT))


def _count(trace: KinetoTrace, pairs: set[int], left_out: LeftOut) -> None:
    read: Counter[str] = Counter()
    for events in trace.lists():
        if isinstance(events, Events):
            read.update(events.categories())
            continue
        read.update(event.cat or "" for event in events)
        if pairs:
            read.update(event.cat or "" for event in events if event.index in pairs)
    read.pop(cats.FLOW, None)  # its flow is counted
    for category, number in read.items():
        calls = cats.CALLS if cats.is_call(category) else cats.FLOWS
        trace.balance.add(cats.READ_AS.get(category, calls), number)
    for index in left_out.indices:
        trace.balance.leave_out(cats.IMPOSSIBLE, 2 if index in pairs else 1)


def _check_read(
    trace: KinetoTrace, where: str, left_out: LeftOut, data: Callable[[], bytes]
) -> None:
    if trace.cpu or trace.calls or trace.device or not trace.balance.total:
        return
    if profiler := recognised(data(), where):
        raise TraceError(f"{where}: {profiler}")
    if left_out.reasons:
        raise TraceError(left_out.reasons[0])
    seen = ", ".join(f"{number} {rule}" for rule, number in trace.balance.left_out.items())
    known = ", ".join(sorted(cats.CPU_CATS | cats.DEVICE_CATS))
    raise TraceError(
        f"{where}: none of its {count(trace.balance.total, 'event')} has a category (`cat`) that "
        f"is read; expected {known} or calls of a runtime, got {seen or 'others'}; this is no "
        f"{WHAT}, or of an accelerator that is not read yet; record with torch.profiler and its "
        "export_chrome_trace"
    )


def _check_one_rank(trace: KinetoTrace, where: str) -> None:
    """Raise TraceError for merged files: their numbers clash."""
    if isinstance(trace.cpu, Events):  # their processes are numbers
        return
    events = (*trace.cpu, *trace.calls, *trace.device)
    names = {str(event.pid) for event in events if isinstance(event.pid, str)}
    labels = {found[0] for name in names if (found := _LABEL.match(name))}
    hosts = {str(event.pid) for event in trace.cpu if event.cat == "cpu_op"}
    merged = names if len(labels) > 1 else hosts or _with_equal_numbers(trace.calls)
    if len(merged) > 1:
        ordered = sorted(merged, key=lambda name: (len(name), name))
        shown = ", ".join(ordered[:4]) + (", ..." if len(merged) > 4 else "")
        raise TraceError(
            f"{where}: holds the processes of several ranks ({shown}), whose numbers of operators "
            "and launches clash; expected one rank a file: give the files that it was merged of"
        )


def _with_equal_numbers(calls: list[Event]) -> set[str]:
    first: dict[int | None, Any] = {None: None}
    found: set[str] = set()
    if isinstance(calls, Events) and len(np.unique(calls.pid)) < 2:
        return found
    for call in calls:
        other = first.setdefault(call.detail.correlation, call.pid)
        if call.detail.correlation and other != call.pid:
            found |= {str(other), str(call.pid)}
    return found


def _set_times(trace: KinetoTrace, data: Callable[[], bytes], left_out: LeftOut) -> None:
    inexact = False
    for events in trace.lists():
        good: list[Event] = []
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
                event.ts = event.dur = None
                good.append(event)
        if len(good) < len(events):
            events[:] = good
    if inexact:
        _set_exact_times(trace, data(), left_out.where)


def _set_exact_times(trace: KinetoTrace, data: bytes, where: str) -> None:
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
    said = f"{problem}; the event is a {event.cat} called {event.name}"
    left_out.add(event.index, f".{name}", said, counts=event.cat != cats.FLOW)


def _sort(events: list[Event]) -> None:
    """By start, longest first, then as in the file."""
    events.sort(key=attrgetter("index"))
    events.sort(key=attrgetter("end"), reverse=True)
    events.sort(key=attrgetter("start"))


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
