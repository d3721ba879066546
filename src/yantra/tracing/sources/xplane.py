"""XSpace: what the profiler of XLA (JAX, TensorFlow, PyTorch/XLA) writes, `*.xplane.pb`.

Times are whole picoseconds. Events are decoded a line at a time, on demand.

Source: openxla/xla, xplane.proto and xplane_schema.cc.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.base.wire import Span, WireError, fields, signed

Stats = dict[str, Any]
_REPLACED = b"\xef\xbf\xbd"
_AS_TEXT = 8  # such characters in what decodes as text
_GZIP = 31  # window bits


class Meta(Struct, gc=False):
    """What events share: `stats` hold for all of them."""

    name: str = ""
    display: str = ""
    stats: Stats = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return self.display or self.name


class Event(Struct, gc=False):
    """An event from `start_ps`, in ps since the plane's epoch; `stats` are its own."""

    meta: Meta
    start_ps: int
    dur_ps: int
    stats: Stats

    @property
    def end_ps(self) -> int:
        return self.start_ps + self.dur_ps

    def stat(self, name: str, default: Any = None) -> Any:
        """A stat, its own or its metadata's."""
        value = self.stats.get(name)
        return self.meta.stats.get(name, default) if value is None else value


class Line(Struct):
    """A time line: a thread, a stream, or one derived from others.

    `spans`: where events begin and end in the file, in turn.
    """

    plane: Plane
    id: int
    name: str
    timestamp_ns: int
    spans: array[int]

    @property
    def count(self) -> int:
        return len(self.spans) // 2

    def events(self) -> Iterator[Event]:
        """Decode the events in file order. Raises TraceError where one is damaged."""
        base, plane = self.timestamp_ns * 1000, self.plane
        with _damage(plane.where, plane.data):
            for at in range(0, len(self.spans), 2):
                yield plane.event(self.spans[at], self.spans[at + 1], base)


class Plane(Struct):
    """A device, a host or a table of programs."""

    where: str
    data: bytes
    name: str = ""
    lines: list[Line] = field(default_factory=list)
    metas: dict[int, Meta] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    stats: Stats = field(default_factory=dict)

    def event(self, begin: int, end: int, base: int) -> Event:
        meta = offset = duration = 0
        stats: Stats = {}
        for number, value, stop in fields(self.data, begin, end):
            if number == 1:
                meta = value
            elif number == 2:
                offset = signed(value)
            elif number == 3:
                duration = signed(value)
            elif number == 4:
                self.stat(value, stop, stats)
        return Event(self.metas.get(meta) or _UNKNOWN, base + offset, duration, stats)

    def stat(self, begin: int, end: int, into: Stats) -> None:
        name, found = "", None
        data = self.data
        for number, value, stop in fields(data, begin, end):
            if number == 1:
                name = self.names.get(value, str(value))
            elif number == 2:
                found = struct.unpack("<d", value.to_bytes(8, "little"))[0]
            elif number == 4:
                found = signed(value)
            elif number == 5:
                found = text(data, value, stop)
            elif number == 7:
                found = self.names.get(value, "")
            elif number == 8:
                found = _unpacked(data[value:stop])
            else:
                found = value if stop < 0 else data[value:stop]
        into[name] = 0 if found is None else found


_UNKNOWN = Meta("an event without a name")


def text(data: bytes, begin: int, end: int) -> str:
    return data[begin:end].decode(errors="replace")


def read(data: bytes, where: str) -> list[Plane]:
    """Read an XSpace's planes. Raises TraceError with the byte where it is damaged."""
    with _damage(where, data):
        spans = [(value, stop) for number, value, stop in fields(data) if number == 1 and stop >= 0]
        return [_plane(data, begin, end, where) for begin, end in spans]


def hostname(data: bytes) -> str:
    """The host of the profile, "" if not said."""
    said = (text(data, at, end) for number, at, end in fields(data) if number == 4 and end >= 0)
    return next(said, "")


@contextmanager
def _damage(where: str, data: bytes) -> Iterator[None]:
    try:
        yield
    except WireError as error:
        raise TraceError(f"{where}: {damage(data, error)}") from None


def damage(data: bytes, error: WireError) -> str:
    """Which byte is wrong, or that the file was kept as text."""
    if data.count(_REPLACED) >= _AS_TEXT and _is_text(data):
        return (
            "a binary file that was kept as text: bytes from 0x80 up became U+FFFD (EF BF BD), "
            f"{data.count(_REPLACED)} times; expected a profile of XLA (.xplane.pb); copy the "
            "original again, as binary"
        )
    return (
        f"{error}; expected a whole profile of XLA (.xplane.pb) of more than these {len(data)} "
        "bytes; copy it again, or record again and let the profiler finish"
    )


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.end == len(data)  # cut inside a character
    return True


def _plane(data: bytes, begin: int, end: int, where: str) -> Plane:
    plane = Plane(where, data)
    lines: list[Span] = []
    metas: list[Span] = []
    stats: list[Span] = []
    for number, value, stop in fields(data, begin, end):
        if stop < 0:
            continue
        if number == 2:
            plane.name = text(data, value, stop)
        elif number in (3, 4, 6):
            {3: lines, 4: metas, 6: stats}[number].append((value, stop))
        elif number == 5:
            key, meta = _entry(data, value, stop)
            name = next((text(data, *span) for n, *span in fields(data, *meta) if n == 2), "")
            plane.names[key] = name
    for span in metas:
        key, meta = _entry(data, *span)
        plane.metas[key] = _meta(plane, *meta)
    for span in stats:
        plane.stat(*span, plane.stats)
    plane.lines = [_line(plane, *span) for span in lines]
    return plane


def _entry(data: bytes, begin: int, end: int) -> tuple[int, Span]:
    key, value = 0, (begin, begin)
    for number, at, stop in fields(data, begin, end):
        if number == 1:
            key = at
        elif number == 2 and stop >= 0:
            value = at, stop
    return key, value


def _meta(plane: Plane, begin: int, end: int) -> Meta:
    meta = Meta()
    for number, value, stop in fields(plane.data, begin, end):
        if stop < 0:
            continue
        if number == 2:
            meta.name = text(plane.data, value, stop)
        elif number == 4:
            meta.display = text(plane.data, value, stop)
        elif number == 5:
            plane.stat(value, stop, meta.stats)
    return meta


def _line(plane: Plane, begin: int, end: int) -> Line:
    line = Line(plane, 0, "", 0, array("q"))
    for number, value, stop in fields(plane.data, begin, end):
        if number == 1:
            line.id = signed(value)
        elif number == 2:
            line.name = text(plane.data, value, stop)
        elif number == 3:
            line.timestamp_ns = signed(value)
        elif number == 4 and stop >= 0:
            line.spans.append(value)
            line.spans.append(stop)
    return line


def _unpacked(data: bytes) -> bytes:
    try:
        return zlib.decompress(data, _GZIP)
    except zlib.error:
        return data
