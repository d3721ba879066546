"""AMD's rocprofv3: its database (rocpd, both layouts) and its JSON, a rank a process and GPU.

Operations are ordered by stream, since hardware queues are shared. Streams keep their numbers, also
those that live for one kernel.

Source: ROCm/rocm-systems, rocpd_tables.sql 3.0 to 4.1; JSON of rocprofiler-sdk.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.chakra.other_formats import found_in
from yantra.tracing.pytorch.events import Args, Event
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.sources import rocpd, rocprof_json
from yantra.tracing.sources.nccl import Members, NcclCall, kind_of
from yantra.tracing.sources.rank_events import RankEvents

_SIZES = {"int8": 1, "uint8": 1, "char": 1, "int32": 4, "uint32": 4, "int": 4, "int64": 8}
_SIZES |= {"uint64": 8, "float16": 2, "half": 2, "float32": 4, "float": 4, "float64": 8}
_SIZES |= {"double": 8, "bfloat16": 2, "fp8e4m3": 1, "fp8e5m2": 1, "float8e4m3": 1}
_SIZES |= {"float8e5m2": 1}
_NUMBERED = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)  # by the value of ncclDataType_t
_KERNELS = ("ncclDevKernel", "ncclKernel", "rccl", "mscclKernel")


class Process(NamedTuple):
    """A rank: a process and one of its GPUs, numbered from 0 among GPUs."""

    pid: int
    device: int


class Work(NamedTuple):
    """A kernel or a copy; `thread` launched it, if known."""

    pid: int
    device: int
    stream: int
    start: int
    end: int
    name: str
    correlation: int
    category: str = "kernel"
    size: int | None = None


class Region(NamedTuple):
    """A call of an API or a range of roctx; `arguments` of RCCL's."""

    pid: int
    thread: int
    start: int
    end: int
    name: str
    category: str
    correlation: int
    arguments: dict[str, str]


class RocmFile(Struct):
    """A recording, read whole; `left_out` by table or list that is not read."""

    path: str
    works: list[Work]
    regions: list[Region]
    bad: int
    left_out: dict[str, int]
    processes: list[Process] = field(default_factory=list)
    comms: dict[tuple[int, str], str] = field(default_factory=dict)  # by rank and handle


def survey(path: str) -> RocmFile:
    """Read a file. Raises TraceError, also if no kernel or copy is in it."""
    kind = found_in(path)
    is_json = kind is not None and kind.key == "rocprof"
    works, regions, bad, left_out = (rocprof_json if is_json else rocpd).read(path)
    made = [Work(*row) for row in works]
    file = RocmFile(path, made, [Region(*row) for row in regions], bad, left_out)
    if not made:
        raise TraceError(
            f"{path}: no kernel and no copy; expected those of rocprofv3; record with rocprofv3 "
            "--kernel-trace --hip-runtime-trace --rccl-trace --output-format rocpd"
        )
    found = {Process(work.pid, work.device) for work in made}
    file.processes = sorted(found, key=lambda one: (one.device, one.pid))
    return file


def use_of(file: RocmFile, ranks: dict[Process, int], members: Members) -> None:
    """Name the communicators of a file, whose handles hold in a process only."""
    used: defaultdict[str, set[int]] = defaultdict(set)
    of_rank: defaultdict[int, set[str]] = defaultdict(set)
    for process, rank in ranks.items():
        for region in _regions_of(file, process):
            handle = region.arguments.get("comm", "")
            if handle and kind_of(region.name):
                used[handle].add(rank)
                of_rank[rank].add(handle)
    alone = all(len(handles) == 1 for handles in of_rank.values())
    for rank, handles in of_rank.items():
        for handle in handles:
            if len(used[handle]) > 1 or alone:
                name = handle if len(used[handle]) > 1 else "all"
                file.comms[rank, handle] = name
                members.use(name, rank)


def read(file: RocmFile, process: Process, rank: int, size: int, members: Members) -> KinetoTrace:
    """The events of a rank."""
    events = _events(file, process)
    trace = events.trace
    trace.rank, trace.world_size = rank, size
    trace.base_ns = 0
    calls = _Calls(file, process, rank)
    events.collectives(calls.around, members, _KERNELS)
    for name, number in file.left_out.items():
        trace.balance.leave_out(f"of {name}, which is not read", number)
    return events.count(file.bad)


def _events(file: RocmFile, process: Process) -> RankEvents:
    siblings = [one for one in file.processes if one.pid == process.pid]
    shared = len(siblings) > 1
    events = RankEvents(process.pid, process.device, shared=shared, first=siblings[0] == process)
    for work in file.works:
        if work.pid == process.pid:
            times = work.start, work.end
            args = events.work(
                work.category, work.name, times, work.device, work.stream, work.correlation
            )
            if args is not None:
                args.bytes = work.size
    calls: list[Event] = []
    ranges: list[Event] = []
    for region in file.regions:
        if region.pid == process.pid:
            made = _event(events, region)
            is_call = region.category in ("HIP_RUNTIME_API", "HIP_COMPILER_API", "HSA_CORE_API")
            (calls if is_call else ranges).append(made)
    launching = {call.detail.correlation for call in calls}
    calls += [
        made
        for made in ranges
        if made.detail.correlation in events.named and made.detail.correlation not in launching
    ]
    events.calls(calls)
    for made in ranges:
        events.range(made)
    return events


def _event(events: RankEvents, region: Region) -> Event:
    is_range = region.category.startswith("MARKER") or not region.category
    cat = "user_annotation" if is_range and "::" not in region.name else "cpu_op"
    args = Args(correlation=region.correlation)
    return events.event(cat, region.name, region.start, region.end, region.thread, args)


def _regions_of(file: RocmFile, process: Process) -> Iterator[Region]:
    """Calls of RCCL on the threads that launch to the process's GPU."""
    numbers = {w.correlation: w.device for w in file.works if w.pid == process.pid}
    threads: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for region in file.regions:
        if region.pid == process.pid and region.correlation in numbers:
            threads[region.thread][numbers[region.correlation]] += 1
    for region in file.regions:
        if region.pid == process.pid and region.arguments:
            device = numbers.get(region.correlation)
            served = threads[region.thread]
            if process.device == device or (device is None and served[process.device]):
                yield region


class _Calls:
    """RCCL's calls of a rank, by thread and correlation."""

    def __init__(self, file: RocmFile, process: Process, rank: int) -> None:
        self.by_number: defaultdict[int, list[NcclCall]] = defaultdict(list)
        self.by_thread: defaultdict[int, list[NcclCall]] = defaultdict(list)
        for region in _regions_of(file, process):
            kind = kind_of(region.name)
            if kind:
                comm = file.comms.get((rank, region.arguments.get("comm", "")), "")
                call = _call(kind, region, comm)
                self.by_number[region.correlation].append(call)
                self.by_thread[region.thread].append(call)

    def around(self, launch: Event) -> list[NcclCall]:
        """The calls of one number with the launch, or those that enclose it."""
        same = self.by_number.get(launch.detail.correlation or 0)
        if same:
            return same
        calls = self.by_thread.get(launch.tid, [])
        return [call for call in calls if call.start <= launch.start <= call.end]


def _call(kind: str, region: Region, comm: str) -> NcclCall:
    said = region.arguments
    count = said.get("count") or said.get("sendcount") or said.get("recvcount") or ""
    type = (said.get("datatype") or said.get("dataType") or "").removeprefix("nccl").lower()
    if type.isdecimal():
        width = _NUMBERED[int(type)] if int(type) < len(_NUMBERED) else None
    else:
        width = _SIZES.get(type.replace("_", ""))
    size = int(count) * width if count.isdecimal() and width is not None else None
    peer = said.get("peer", "")
    return NcclCall(
        kind, region.start, region.end, comm, size, int(peer) if peer.isdecimal() else None
    )
