"""What ran on the devices of an XSpace: operations with their instruction and program.

GPUs have planes with a line a stream, TPUs a line of operations, CPUs threads of the host whose
events name their device. Lines that repeat the time of others are left out and counted.

Source: openxla/xla, xplane_schema.cc; profiles of jaxlib 0.4 to 0.10.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.base.wire import WireError
from yantra.chakra import files
from yantra.tracing.sources import hlo, xplane
from yantra.tracing.sources.hlo import CONTAINERS, Program
from yantra.tracing.sources.xplane import Event, Line, Plane

_STREAM = re.compile(r"Stream #(\d+)")
_DEVICE = re.compile(r"/device:(GPU|TPU):(\d+)\Z")
_NUMBERED = re.compile(r"\((-?\d+)\)\Z")
_INSTRUCTION = re.compile(r"%?([^\s=]+) = ")
_SIZE = re.compile(r"\bsize:(\d+)")
_OPS, _HOST, _PROGRAMS, _TASK = "XLA Ops", "/host:CPU", "/host:metadata", "Task Environment"
_SIDECAR = ".hlo_proto.pb"
_ABSOLUTE_NS = 10**17  # later times count from 1970, earlier from the profile's start
_NO_PROGRAM = -1


class DeviceOp(Struct, gc=False):
    """An operation on a device, in ps.

    `end_ps`: of its event, `until_ps`: also of its end marker. `name`: the instruction, or the
    kernel where none is known. `program`: its id, -1 if unknown. `bytes`: of a copy.
    """

    name: str
    kernel: str
    program: int
    stream: int
    start_ps: int
    end_ps: int
    until_ps: int
    run: int = 0
    category: str = "kernel"
    bytes: int | None = None
    container: bool = False
    correlation: int | None = None
    flops: int | None = None


class Device(Struct):
    """A device: `number` on its host; `about` has speed and size as the profiler says."""

    name: str
    number: int
    about: dict[str, Any]
    ops: list[DeviceOp] = field(default_factory=list)


class Profile(Struct):
    """A file: devices that worked, programs by id, events left out by plane and line."""

    where: str
    kind: str = ""
    devices: list[Device] = field(default_factory=list)
    idle: int = 0  # devices that did nothing
    programs: dict[int, Program] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    launches: int = 0
    launched: int = 0  # device ops with a launch
    unmarked: int = 0  # operations without an end marker
    late: int = 0  # operations that end at their marker
    problems: list[str] = field(default_factory=list)

    def instruction(self, op: DeviceOp) -> hlo.Instruction | None:
        program = self.programs.get(op.program)
        return None if program is None else program.by_name.get(op.name)


def read(path: str) -> Profile:
    """Read a profile and the programs beside it. Raises TraceError."""
    data = files.load(path)
    planes = xplane.read(data, path)
    profile = Profile(path)
    for plane in planes:
        if plane.name == _PROGRAMS:
            _programs(profile, plane)
    _sidecars(profile)
    base = _epoch(planes)
    for plane in planes:
        found = _DEVICE.match(plane.name)
        if found:
            _device(profile, plane, found[1], int(found[2]), base)
        elif plane.name not in (_HOST, _PROGRAMS, _TASK):
            _leave_out(profile, plane.name, sum(line.count for line in plane.lines))
    hosts = [plane for plane in planes if plane.name == _HOST]
    if profile.devices:
        _launches(profile, hosts)
    else:
        _Cpu(profile, base).read(hosts)
    if not profile.devices:
        names = ", ".join(plane.name for plane in planes) or "none"
        raise TraceError(
            f"{path}: no operation of a device in its planes ({names}); expected kernels on "
            "/device:GPU:n or /device:TPU:n, or operations with `hlo_op` on /host:CPU; record with "
            "jax.profiler.trace while the step runs"
        )
    _mark_containers(profile)
    return profile


def _programs(profile: Profile, plane: Plane) -> None:
    for meta in plane.metas.values():
        content = meta.stats.get("Hlo Proto")
        if isinstance(content, bytes):
            said = meta.stats.get("program_id")
            numbered = _NUMBERED.search(meta.name)
            number = said if isinstance(said, int) else int(numbered[1]) if numbered else None
            _program(profile, content, f"program {meta.name}", number)


def _sidecars(profile: Profile) -> None:
    folder = os.path.dirname(profile.where) or "."
    for name in sorted(os.listdir(folder)):
        if name.endswith(_SIDECAR):
            path = os.path.join(folder, name)
            _program(profile, files.load(path), path, None, beside=True)


def _program(
    profile: Profile, content: bytes, what: str, number: int | None, *, beside: bool = False
) -> None:
    try:
        program = hlo.read(content)
    except (WireError, RecursionError) as error:
        raise TraceError(f"{profile.where}: {what}: {error}; expected a HloProto") from None
    if program is not None:
        key = program.id if number is None else number
        if not beside or key not in profile.programs:
            profile.programs[key] = program


def _epoch(planes: Iterable[Plane]) -> int:
    for plane in planes:
        if plane.name == _TASK and isinstance(start := plane.stats.get("profile_start_time"), int):
            return start * 1000
    return 0


def _since(event: Event, base: int) -> int:
    return event.start_ps + (base if event.start_ps < _ABSOLUTE_NS * 1000 else 0)


def _leave_out(profile: Profile, name: str, events: int) -> None:
    if events:
        profile.left_out[name] += events


def _device(profile: Profile, plane: Plane, kind: str, number: int, base: int) -> None:
    profile.kind = kind
    device = Device(plane.name, number, plane.stats)
    for line in plane.lines:
        stream = _STREAM.match(line.name)
        if kind == "GPU" and stream:
            device.ops += (_kernel(e, int(stream[1]), base) for e in line.events())
        elif kind == "TPU" and line.name == _OPS:
            device.ops += _leaves(line, base)
        else:
            _leave_out(profile, f"{plane.name} {line.name}", line.count)
    device.ops.sort(key=_order)
    if device.ops:
        profile.devices.append(device)
    else:
        profile.idle += 1


def _kernel(event: Event, stream: int, base: int) -> DeviceOp:
    name, details = event.stat("hlo_op"), str(event.stat("memcpy_details", ""))
    kernel = event.meta.shown
    category = "kernel"
    if details or kernel.startswith("Memcpy"):
        category = "gpu_memcpy"
    elif kernel.startswith("Memset"):
        category = "gpu_memset"
    size = _SIZE.search(details)
    op = _op(event, str(name or kernel), stream, base)
    if not name:
        op.program = _NO_PROGRAM
    op.kernel, op.category = kernel, category
    op.bytes = int(size[1]) if size else None
    return op


def _leaves(line: Line, base: int) -> Iterator[DeviceOp]:
    events = sorted(line.events(), key=lambda event: (event.start_ps, -event.dur_ps))
    for place, event in enumerate(events):
        follower = events[place + 1] if place + 1 < len(events) else None
        if follower is not None and follower.start_ps < event.end_ps:
            continue  # it encloses others
        written = _INSTRUCTION.match(event.meta.name)
        name = event.stat("hlo_op") or event.meta.display or (written[1] if written else "")
        op = _op(event, str(name or event.meta.name).lstrip("%"), 0, base)
        op.kernel = event.meta.shown
        op.flops = event.stat("flops")
        op.bytes = event.stat("bytes_accessed")
        yield op


def _op(event: Event, name: str, stream: int, base: int) -> DeviceOp:
    start = _since(event, base)
    number = event.stat("program_id")
    end = start + event.dur_ps
    return DeviceOp(
        name=name,
        kernel=name,
        program=number if isinstance(number, int) else _NO_PROGRAM,
        stream=stream,
        start_ps=start,
        end_ps=end,
        until_ps=end,
        run=event.stat("run_id") or 0,
        correlation=event.stat("correlation_id"),
    )


def _launches(profile: Profile, hosts: list[Plane]) -> None:
    numbers: set[Any] = set()
    for plane in hosts:
        for line in plane.lines:
            launches = 0
            for event in line.events():
                number = event.stats.get("correlation_id")
                if number is not None:
                    launches += 1
                    numbers.add(number)
            profile.launches += launches
            _leave_out(profile, f"{plane.name} {line.name}", line.count)
    ops = (op for device in profile.devices for op in device.ops)
    profile.launched = sum(op.correlation in numbers for op in ops)


class _Cpu:
    """Operations on the threads of /host:CPU, by the device that their event names."""

    def __init__(self, profile: Profile, base: int) -> None:
        self.profile = profile
        self.base = base
        self.devices: dict[int, Device] = {}
        self.open: dict[tuple[Any, Any], DeviceOp] = {}
        self.ends: dict[tuple[Any, Any], int] = {}

    def read(self, hosts: list[Plane]) -> None:
        for plane in hosts:
            for line in plane.lines:
                others = sum(not self._event(event, line.id) for event in line.events())
                _leave_out(self.profile, f"{plane.name} {line.name.split('/')[0]}", others)
        self._mark()
        self.profile.kind = "CPU"
        self.profile.devices = [device for _, device in sorted(self.devices.items())]
        for device in self.profile.devices:
            device.ops.sort(key=_order)

    def _event(self, event: Event, line: int) -> bool:
        stats = event.stats
        if "hlo_op" in stats and "correlation_id" not in stats:
            number = stats.get("device_ordinal", 0)
            device = self.devices.get(number)
            if device is None:
                device = self.devices[number] = Device(f"CPU device {number}", number, {})
            op = _op(event, str(stats["hlo_op"]), line, self.base)
            device.ops.append(op)
            if "_p" in stats:
                self.open[stats.get("_pt"), stats["_p"]] = op
            return True
        if "_c" in stats and event.meta.name.startswith("end: "):
            self.ends[stats.get("_ct"), stats["_c"]] = _since(event, self.base)
            return True
        return False

    def _mark(self) -> None:
        for key, op in self.open.items():
            end = self.ends.get(key)
            if end is None:
                self.profile.unmarked += 1
            elif end > op.end_ps:
                op.until_ps = end
                self.profile.late += 1


def _mark_containers(profile: Profile) -> None:
    """Operations that only enclose others: by their instruction, else by their times."""
    for device in profile.devices:
        latest: dict[int, DeviceOp] = {}
        for op in device.ops:
            instruction = profile.instruction(op)
            if instruction is not None:
                op.container = instruction.opcode in CONTAINERS
            around = latest.get(op.stream)
            inside = around is not None and op.end_ps <= around.end_ps and profile.kind == "CPU"
            if around is not None and inside:
                known = profile.instruction(around)
                # A call without operations inside is work of its own.
                around.container |= known is None or known.opcode == "call"
            if around is None or not inside or op.container:
                latest[op.stream] = op


def _order(op: DeviceOp) -> tuple[int, int]:
    return op.start_ps, -op.end_ps
