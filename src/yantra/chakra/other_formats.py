"""Recognises recordings of other profilers by their content, and says what to do with them.

Trade-off: some binary reports have no mark of their own; then the ending of the name decides.

Source: signatures of SQLite, gzip, HDF5 and pickle; XSpace and HloProto (openxla/xla); Perfetto's
trace_packet.proto; tables and keys that Nsight Systems, rocprofv3, rpd_tracer and nvprof write;
timelines of Horovod, TensorFlow and SageMaker.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from yantra.base.wire import WireError, fields, varint

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = 1 << 16
_TEXT = 1 << 20  # of JSON that is looked at
_SQLITE = b"SQLite format 3\0"
_TORCH = "record with torch.profiler and its export_chrome_trace"
_CONVERT = "make it a trace first: yantra chakra convert profile FILE -o job"
_PLANES = (b"/host:", b"/device:", b"Task Environment")
_NSYS_TABLES = (b"CUPTI_ACTIVITY", b"NVTX_EVENTS")
_PACKET = frozenset({1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 33, 35, 36, 41, 42, 43, 44, 58, 59, 60})
_PACKET |= {27, 87, 89, 91}


class Recording(NamedTuple):
    """A kind of recording: `key`, its name, and what its owner does with it."""

    key: str
    name: str
    remedy: str

    @property
    def is_read(self) -> bool:
        """Whether `convert profile` reads it."""
        return self.remedy == _CONVERT

    def sentence(self, path: str = "") -> str:
        """What it is and what to do, with its file's name."""
        unread = "" if ", which has" in self.name else ", which is not read"
        said = ", which is no trace of Chakra" if self.is_read else unread
        remedy = self.remedy.replace("FILE", path) if path else self.remedy
        return f"this is {self.name}{said}; {remedy}"


def found(data: bytes, path: str = "") -> Recording | None:
    """The kind of another profiler's file from its content or, without a mark, its name."""
    head = data[:_HEAD]
    for is_one, recording in _FORMATS:
        if is_one(head, data):
            return recording
    if head.lstrip()[:1] in (b"[", b"{"):
        return timeline(data)
    return next((one for ending, one in _ENDINGS.items() if path.endswith(ending)), None)


def recognised(data: bytes, path: str = "") -> str:
    """What another profiler's file is, and what to do; "" for other files."""
    recording = found(data, path)
    return "" if recording is None else recording.sentence(path)


def found_in(path: str) -> Recording | None:
    """As `found`, from the beginning of a file, or the tables of a database."""
    from yantra.base.errors import ConfigError
    from yantra.base.regular import open_regular
    from yantra.base.unpacking import Unpacked
    from yantra.chakra.files import GZIP

    try:
        with open_regular(path) as raw:
            packed = raw.read(2) == GZIP
            raw.seek(0)
            file = Unpacked.of(raw, path) if packed else raw
            data = file.read(_TEXT)
            if data.startswith(_SQLITE):
                tables = _tables(path)
                data = data[:_HEAD] if tables is None else _SQLITE + tables
    except (OSError, ConfigError):
        return None
    return found(data, path)


def timeline(data: bytes) -> Recording | None:
    """The kind of a timeline in Chrome's form that is not PyTorch's, None if not known."""
    text = data[:_TEXT]
    if _OF_PYTORCH.search(text):
        return None
    return next((one for mark, one in _TIMELINES if mark.search(text)), None)


def _tables(path: str) -> bytes | None:
    import sqlite3
    from urllib.parse import quote

    try:
        base = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        base.text_factory = bytes
        try:
            rows = base.execute("SELECT name FROM sqlite_master").fetchall()
        finally:
            base.close()
    except (sqlite3.Error, UnicodeDecodeError):  # a message may hold bytes of the file
        return None
    return b" ".join(row[0] for row in rows if isinstance(row[0], bytes))


def _is_nsys(head: bytes, data: bytes) -> bool:
    marks = any(table in data for table in _NSYS_TABLES)
    return head.startswith(_SQLITE) and (marks or b"StringIds" in data)


def _is_nvprof(head: bytes, data: bytes) -> bool:
    is_one = head.startswith(_SQLITE) and b"CUPTI_ACTIVITY_KIND" in data
    return is_one and b"StringTable" in data and b"StringIds" not in data


def _is_rocpd(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE) and b"rocpd_kernel_dispatch" in data


def _is_rpd(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE) and b"rocpd_" in data


def _is_ascend(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE) and b"COMPUTE_TASK_INFO" in data


def _is_sqlite(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE)


def _is_nsys_report(head: bytes, data: bytes) -> bool:
    return head[:4] != b"\x1f\x8b" and b"NVIDIA Nsight Systems" in head[:256]


def _is_nsys_lines(head: bytes, data: bytes) -> bool:
    return re.match(rb'\s*\{"data":\s*\[|\s*\{[^\n]{0,200}"CudaEvent"', head) is not None


def _is_hdf5(head: bytes, data: bytes) -> bool:
    return head.startswith(b"\x89HDF\r\n\x1a\n")


def _is_compute_report(head: bytes, data: bytes) -> bool:
    return head.startswith(b"NVR\0")


def _is_pickle(head: bytes, data: bytes) -> bool:
    return head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _is_snapshot(head: bytes, data: bytes) -> bool:
    marks = b"device_traces" in data or b"segments" in data
    is_json = re.match(rb'\s*\{\s*"(?:segments|device_traces)"', head) is not None
    return (_is_pickle(head, data) and marks) or is_json


def _is_rocprof(head: bytes, data: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"rocprofiler-sdk-tool"' in head


def _is_rocprof_table(head: bytes, data: bytes) -> bool:
    return (
        re.match(rb'"?Kind"?,"?(?:Agent_Id|Domain)"?,|"?Domain"?,"?Function"?,', head) is not None
    )


def _is_events(head: bytes, data: bytes) -> bool:
    return b"brain.Event:2" in head[:64]


def _is_goal(head: bytes, data: bytes) -> bool:
    plain = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", head[:_COMMENTS], flags=re.DOTALL)
    return re.match(rb"\s*num_ranks\s+\d+", plain) is not None


def _is_xspace(head: bytes, data: bytes) -> bool:
    # Begins with a plane (field 1), and one has a name as XLA gives it.
    return head[:1] == b"\n" and any(_has_plane(data, begin) for begin in _PLANES)


def _has_plane(data: bytes, begin: bytes) -> bool:
    at = data.find(begin)
    while at >= 2:
        if data[at - 2] == 0x12 and len(begin) <= data[at - 1] < 128:
            return True
        at = data.find(begin, at + 1)
    return False


def _is_program(head: bytes, data: bytes) -> bool:
    """A HloProto: a module whose name, entry and first computation come first."""
    if head[:1] != b"\n" or b"parameter" not in data:
        return False
    try:
        _, at = varint(head, 1, len(head))
        seen = []
        for number, _value, end in fields(head, at):
            seen.append((number, end >= 0))
            if len(seen) == 3:
                break
    except WireError:
        return False
    return seen[:2] == [(1, True), (2, True)]


def _is_perfetto(head: bytes, data: bytes) -> bool:
    """Packets (field 1) of fields that Perfetto's packets have."""
    packets = at = 0
    try:
        while at < len(data) and packets < _ENOUGH:
            if data[at] != 0x0A:
                return False
            size, at = varint(data, at + 1, len(data))
            if at + size > len(data):
                break
            if not {number for number, *_ in fields(data, at, at + size)} <= _PACKET:
                return False
            at += size
            packets += 1
    except WireError:
        return False
    return packets > 1


_OF_PYTORCH = re.compile(
    rb'"cat"\s*:\s*"(?:cpu_op|kernel|user_annotation|gpu_mem\w+|\w+_runtime|\w+_driver|Operator)"'
)
_COMMENTS = 1 << 12  # bytes in which a schedule begins
_ENOUGH = 8  # packets that are looked at
_NSYS = "nsys export --type sqlite -o out.sqlite"
_PROFILE = "a profile of JAX or TensorFlow (XSpace, .xplane.pb)"
_REPORT = Recording(
    "nsys-rep", "a report of Nsight Systems (.nsys-rep)", f"export it: {_NSYS} FILE"
)
_QDSTRM = Recording(
    "qdstrm",
    "an unfinished capture of Nsight Systems (.qdstrm)",
    f"import it with QdstrmImporter -i FILE, then {_NSYS} FILE.nsys-rep",
)
_COMPUTE = Recording(
    "ncu-rep",
    "a report of Nsight Compute, which has kernels one by one and no time line",
    f"record the run with nsys profile, then {_NSYS} FILE.nsys-rep",
)
_PERFETTO = Recording(
    "pftrace",
    "a trace of Perfetto (.pftrace)",
    "record with rocprofv3 --output-format rocpd, or with torch.profiler and its "
    "export_chrome_trace",
)
_ENDINGS = {
    ".nsys-rep": _REPORT,
    ".qdrep": _REPORT,
    ".qdstrm": _QDSTRM,
    ".ncu-rep": _COMPUTE,
    ".pftrace": _PERFETTO,
    ".perfetto-trace": _PERFETTO,
}
_FORMATS: tuple[tuple[Callable[[bytes, bytes], bool], Recording], ...] = (
    (
        _is_nvprof,
        Recording("nvprof", "an export of nvprof (SQLite)", f"record with nsys profile, {_NSYS}"),
    ),
    (_is_nsys, Recording("nsys", "an export of Nsight Systems (SQLite)", _CONVERT)),
    (_is_nsys_report, _REPORT),
    (_is_rocpd, Recording("rocpd", "a recording of rocprofv3 (rocpd, SQLite)", _CONVERT)),
    (
        _is_rpd,
        Recording(
            "rpd",
            "a recording of rpd_tracer (SQLite)",
            "record with rocprofv3 --output-format rocpd",
        ),
    ),
    (
        _is_ascend,
        Recording(
            "ascend", "a database of Ascend's profiler", "give the trace_view.json beside it"
        ),
    ),
    (_is_sqlite, Recording("sqlite", "a database of SQLite", _TORCH)),
    (_is_compute_report, _COMPUTE),
    (
        _is_hdf5,
        Recording(
            "hdf5", "a file of HDF5, as Nsight Systems may export", f"export it as SQLite: {_NSYS}"
        ),
    ),
    (
        _is_nsys_lines,
        Recording(
            "nsys-json", "an export of Nsight Systems (JSON)", f"export it as SQLite: {_NSYS}"
        ),
    ),
    (
        _is_snapshot,
        Recording("snapshot", "a snapshot of PyTorch's memory, which has no kernels", _TORCH),
    ),
    (_is_pickle, Recording("pickle", "a pickle of Python, which may run code", _TORCH)),
    (
        _is_rocprof,
        Recording("rocprof", "a recording of rocprofv3 (rocprofiler-sdk JSON)", _CONVERT),
    ),
    (
        _is_rocprof_table,
        Recording(
            "rocprof-csv",
            "a table of rocprofv3 (CSV), without launches and streams",
            "record with rocprofv3 --output-format rocpd",
        ),
    ),
    (
        _is_events,
        Recording(
            "events",
            "a log of TensorBoard, which has no kernels",
            "give the .xplane.pb under plugins/profile, or " + _TORCH,
        ),
    ),
    (_is_goal, Recording("goal", "a schedule of LogGOPSim (GOAL)", _CONVERT)),
    (_is_xspace, Recording("xplane", _PROFILE, _CONVERT)),
    (
        _is_program,
        Recording(
            "hlo",
            "a program of XLA (HloProto), which has no times",
            "give the .xplane.pb beside it: its programs are found there",
        ),
    ),
    (_is_perfetto, _PERFETTO),
)
_TIMELINES = (
    (
        re.compile(rb'"NEGOTIATE_[A-Z]+"|"name"\s*:\s*"(?:horovod|DistributedOptimizer)'),
        Recording("horovod", "a timeline of Horovod, which has no kernels", _TORCH),
    ),
    (
        re.compile(rb'start_time_since_epoch_in_micros|"Step:ModeKeys'),
        Recording("sagemaker", "a timeline of SageMaker's debugger, which has no kernels", _TORCH),
    ),
    (
        re.compile(rb'/job:[^"/]{0,60}/replica:|"name"\s*:\s*"/(?:device|host):'),
        Recording(
            "tensorflow",
            "a timeline of TensorFlow or JAX for a trace viewer",
            "give the .xplane.pb that the profiler writes beside it",
        ),
    ),
    (
        re.compile(rb'"name"\s*:\s*"MPI_[A-Z][a-z_]+"'),
        Recording("mpi", "a trace of MPI calls", _CONVERT),
    ),
    (
        re.compile(rb'"(?:bpf|ebpf|probe_type|kprobe|uprobe|bpf_ktime_ns)[^"]*"\s*[:,]', re.I),
        Recording("ebpf", "a timeline of probes of the kernel (eBPF)", _TORCH),
    ),
)
