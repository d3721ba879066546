"""Nsight Systems' SQLite export: each process, and each device of one, as a rank.

Rows become the events of a PyTorch trace, so that one linker finds launches, streams and waits. No
tensors are in the file, so nothing has FLOPs or shapes.

Source: exporter documentation of Nsight Systems 2021.5 to 2026.2, files of schemas 3.1 to 3.25.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.events import Args, Event
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.sources.nccl import Members
from yantra.tracing.sources.nsight_nccl import Calls, calls_of
from yantra.tracing.sources.rank_events import RankEvents
from yantra.tracing.sources.tables import Tables, whole

WHAT = "an export of Nsight Systems (SQLite)"
_KIND = "CUPTI_ACTIVITY_KIND_"
_DEVICE_TABLES = ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
_VERSION = re.compile(r"(?:_ptsz|_ptds)?_v\d+\Z")
_NUMBERS = re.compile(r", (?:op_id|seq) = (\d+)")
_COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD"}
_COPIES |= {9: "HtoH", 10: "PtoP"}
_MEMORY = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed"}
_WAITS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_PUSHED = 59
_RANGES = {34: "marks", 60: "ranges that may cross others", 75: "names of domains"}
_NONE = 0xFFFFFFFF
_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId")
_PROCESS = "WHERE (({}>>24)&16777215) = ?"
_READ = frozenset({*_DEVICE_TABLES, "RUNTIME", "SYNCHRONIZATION", "CUDA_EVENT"})


class Process(NamedTuple):
    """A rank: a process and one of its devices."""

    pid: int
    device: int


class NsightFile(Struct):
    """A file and its ranks, in the order of (device, process)."""

    path: str
    processes: list[Process]
    shared: set[int]  # processes of several devices
    epoch_ns: int
    unread: dict[str, int]
    calls: Calls  # of NCCL
    waited_ns: dict[str, int]  # by kind of synchronisation


def survey(path: str) -> NsightFile:
    """Find the ranks. Raises TraceError for a file without work on a device."""
    with Tables(path, WHAT) as base:
        found: set[Process] = set()
        for table in _DEVICE_TABLES:
            rows = base.rows(_KIND + table, ("globalPid", "deviceId"))
            pairs = set(rows)
            found |= {Process(_pid(whole(g)), whole(device)) for g, device in pairs}
        if not found:
            raise TraceError(
                f"{path}: no kernel, copy or fill; expected {WHAT} with CUPTI_ACTIVITY_KIND_KERNEL;"
                " record with nsys profile --trace=cuda,nvtx"
            )
        epoch = next(base.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",)), (0,))[0]
        unread = {
            name: base.count(name)
            for name in sorted(base.columns)
            if name.startswith(_KIND) and name.removeprefix(_KIND) not in _READ
        }
        calls = calls_of(base)
        waited: Counter[str] = Counter()
        for start, end, kind in base.timed(_KIND + "SYNCHRONIZATION", ("start", "end", "syncType")):
            waited[_WAITS.get(kind, "Sync of another kind")] += end - start
    counts = Counter(one.pid for one in found)
    processes = sorted(found, key=lambda one: (one.device, one.pid))
    shared = {pid for pid, number in counts.items() if number > 1}
    return NsightFile(path, processes, shared, whole(epoch), unread, calls, dict(waited))


def read(file: NsightFile, process: Process, rank: int, size: int, members: Members) -> KinetoTrace:
    """Read a rank. Raises TraceError."""
    with Tables(file.path, WHAT) as base:
        made = _Rank(base, file, process)
        trace = made.read()
        trace.rank, trace.world_size, trace.base_ns = rank, size, file.epoch_ns
        made.events.collectives(
            lambda launch: file.calls.around(process.pid, launch.tid, launch.start),
            members,
            ("nccl",),
        )
        return made.events.count(base.bad)


def use_of(file: NsightFile, ranks: dict[Process, int], members: Members) -> None:
    """Tell `members` who makes and uses the communicators of a file."""
    by_pid: defaultdict[int, list[int]] = defaultdict(list)
    for process, rank in ranks.items():
        by_pid[process.pid].append(rank)
    file.calls.tell(members, by_pid)


class _Rank:
    def __init__(self, base: Tables, file: NsightFile, process: Process) -> None:
        self.base = base
        self.file = file
        self.process = process
        self.texts = {whole(id): str(text) for id, text in base.rows("StringIds", ("id", "value"))}
        self.streams: dict[tuple[int, int], int] = {}
        first = next(one for one in file.processes if one.pid == process.pid)
        self.events = RankEvents(
            process.pid,
            process.device,
            shared=process.pid in file.shared,
            first=first == process,
        )
        self.trace = self.events.trace

    def read(self) -> KinetoTrace:
        self._kernels()
        self._copies()
        self._graphs()
        self._calls()
        self._syncs()
        self._ranges()
        for name, number in self.file.unread.items():
            self.trace.balance.leave_out(f"of the table {name}, which is not read", number)
        return self.trace

    def _of_process(self, table: str, columns: tuple[str, ...], by: str = "globalPid") -> Any:
        where = _PROCESS.format(by) if self.base.has(table, by) else ""
        return self.base.timed(table, columns, where, (self.process.pid,) if where else ())

    def _work(self, cat: str, name: str, row: tuple[Any, ...], size: Any = None) -> None:
        start, end, device, context, stream, correlation = row[:6]
        stream = self._stream(context, stream)
        times, number = (start, end), whole(correlation, -1)
        args = self.events.work(cat, name, times, whole(device), stream, number)
        if args is not None:
            args.bytes = size

    def _stream(self, context: Any, stream: Any) -> int:
        """Streams of a second context have numbers of their own."""
        key = whole(context), whole(stream)
        if key not in self.streams:
            taken = {*self.streams.values()}
            others = len({number for number, _ in self.streams} - {key[0]})
            self.streams[key] = key[1] if key[1] not in taken else key[1] + (others << 20)
        return self.streams[key]

    def _kernels(self) -> None:
        columns = (*_PLACE, "demangledName", "shortName")
        for row in self._of_process(_KIND + "KERNEL", columns):
            name, short = self.texts.get(row[6], ""), self.texts.get(row[7], "")
            said = short if short.startswith("nccl") else name or short or "kernel"
            self._work("kernel", said, row)

    def _copies(self) -> None:
        columns = (*_PLACE, "bytes", "copyKind", "srcKind", "dstKind")
        for row in self._of_process(_KIND + "MEMCPY", columns):
            ends = " -> ".join(_MEMORY.get(whole(kind, -1), "?") for kind in row[8:10])
            name = f"Memcpy {_COPIES.get(whole(row[7]), 'of an unknown kind')} ({ends})"
            self._work("gpu_memcpy", name, row, whole(row[6]))
        for row in self._of_process(_KIND + "MEMSET", (*_PLACE, "bytes")):
            self._work("gpu_memset", "Memset (Device)", row, whole(row[6]))

    def _graphs(self) -> None:
        for row in self._of_process(_KIND + "GRAPH_TRACE", (*_PLACE, "graphId", "graphExecId")):
            self._work("kernel", f"graph {whole(row[6])} (exec {whole(row[7])})", row)

    def _calls(self) -> None:
        for table in ("SYNCHRONIZATION", "CUDA_EVENT"):
            for number, device in self._untimed(_KIND + table, ("correlationId", "deviceId")):
                self.events.named.setdefault(whole(number), whole(device))
        columns = ("start", "end", "globalTid", "correlationId", "nameId")
        rows = self._of_process(_KIND + "RUNTIME", columns, "globalTid")
        made = []
        for start, end, thread, number, name in rows:
            said = _VERSION.sub("", self.texts.get(whole(name), ""))
            args = Args(correlation=whole(number, -1))
            made.append(self.events.event("cuda_runtime", said, start, end, _tid(thread), args))
        self.events.calls(made)

    def _untimed(self, table: str, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
        for *row, process in self.base.rows(table, (*columns, "globalPid")):
            if _pid(whole(process)) == self.process.pid:
                yield tuple(row)

    def _syncs(self) -> None:
        """Waits whose event or its record is not named stay for inference."""
        columns = ("eventId", "eventSyncId", "contextId", "streamId", "correlationId")
        records = {
            (whole(event), whole(sync)): (context, stream, whole(number))
            for event, sync, context, stream, number in self._untimed(_KIND + "CUDA_EVENT", columns)
            if None not in (event, sync)
        }
        asked = (*_PLACE, "syncType", "eventId", "eventSyncId")
        for row in self._of_process(_KIND + "SYNCHRONIZATION", asked):
            start, end, device, context, stream, number, kind, event, sync = row
            if whole(device) != self.process.device or kind not in _WAITS:
                continue
            args = Args(correlation=whole(number, -1), device=whole(device))
            args.sync_kind = _WAITS[kind]
            if whole(stream) != _NONE:
                args.stream = self._stream(context, stream)
            if kind in (1, 2):
                known = records.get((whole(event, _NONE), whole(sync, _NONE)))
                if known is None:
                    self.trace.unnamed.add(whole(number, -1))
                    continue
                args.wait_on_stream = self._stream(*known[:2])
                args.wait_on_record = known[2]
            made = self.events.event("cuda_sync", args.sync_kind, start, end, 0, args)
            self.trace.syncs.append(made)

    def _ranges(self) -> None:
        columns = ("start", "end", "eventType", "text", "textId", "globalTid")
        where = _PROCESS.format("globalTid") if self.base.has("NVTX_EVENTS", "globalTid") else ""
        rows = self.base.rows("NVTX_EVENTS", columns, where, (self.process.pid,) if where else ())
        for start, end, kind, text, id, thread in rows:
            if kind != _PUSHED or type(start) is not int or type(end) is not int or end < start:
                unended = kind == _PUSHED and end is None
                rule = "ranges that never end" if unended else _RANGES.get(kind, "other rows")
                self.trace.balance.leave_out(f"{rule} of NVTX", 1)
                continue
            name = str(text or self.texts.get(whole(id), ""))
            self.events.range(self._range(name, start, end, _tid(thread)))

    def _range(self, name: str, start: int, end: int, tid: int) -> Event:
        said = name.partition(", ")[0]
        numbered = _NUMBERS.search(name)
        is_operator = numbered is not None or "::" in said or said.startswith("nccl")
        cat = "cpu_op" if is_operator else "user_annotation"
        args = Args(rf_id=int(numbered[1]) if numbered else None)
        return self.events.event(cat, said if numbered else name, start, end, tid, args)


def _pid(number: int) -> int:
    return (number >> 24) & 0xFFFFFF


def _tid(number: Any) -> int:
    return whole(number) & 0xFFFFFF
