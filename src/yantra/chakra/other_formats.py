"""Recognises other profilers' recordings by their beginning.

Source: SQLite's signature (sqlite.org/fileformat.html), XSpace (openxla/xla, xplane.proto), and
keys and tables that Nsight Systems and rocprofv3 write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_HEAD = 1 << 16
_SQLITE = b"SQLite format 3\0"
_TORCH = "record with torch.profiler and its export_chrome_trace"
_PLANES = (b"/host:", b"/device:", b"Task Environment")
_NSYS_TABLES = (b"CUPTI_ACTIVITY", b"NVTX_EVENTS", b"StringIds")


def recognised(data: bytes) -> str:
    """What another profiler's file is, and what to do; "" for other files."""
    head = data[:_HEAD]
    for is_one, name, instead in _FORMATS:
        if is_one(head, data):
            return f"this is {name}, which is not read; {instead}"
    return ""


def _is_nsys(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE) and any(table in data for table in _NSYS_TABLES)


def _is_rocpd(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE) and b"rocpd_" in data


def _is_sqlite(head: bytes, data: bytes) -> bool:
    return head.startswith(_SQLITE)


def _is_nsys_report(head: bytes, data: bytes) -> bool:
    return head[:4] != b"\x1f\x8b" and b"NVIDIA Nsight Systems" in head[:256]


def _is_rocprof(head: bytes, data: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"rocprofiler-sdk-tool"' in head


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


_FORMATS: tuple[tuple[Callable[[bytes, bytes], bool], str, str], ...] = (
    (_is_nsys, "an export of Nsight Systems (SQLite)", _TORCH),
    (_is_nsys_report, "a report of Nsight Systems (.nsys-rep)", _TORCH),
    (_is_rocpd, "a recording of rocprofv3 (rocpd, SQLite)", _TORCH),
    (_is_sqlite, "a database of SQLite", _TORCH),
    (_is_rocprof, "a recording of rocprofv3 (rocprofiler-sdk JSON)", _TORCH),
    (_is_xspace, "a profile of JAX or TensorFlow (XSpace, .xplane.pb)", _TORCH),
)
