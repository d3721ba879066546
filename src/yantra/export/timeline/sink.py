"""A timeline's file, and the numbers of its tracks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from yantra import _core
from yantra.base.output import Path, whole_bytes

Writer = _core.PerfettoWriter | _core.ChromeWriter
_COMPRESSION = 3  # of gzip: nearly as small as 6, in half its time


class Sink:
    """Processes and tracks are numbered from 1."""

    def __init__(self, writer: Writer, file: IO[bytes]) -> None:
        self.writer = writer
        self._file = file
        self._tracks = 0

    def flush(self) -> None:
        self._file.write(self.writer.take())

    def process(self, number: int, name: str, *, first: bool = False) -> int:
        self.writer.process(self._next(), number, name, 0 if first else number + 1)
        return self._tracks

    def track(self, process: int, name: str, about: str = "") -> int:
        self.writer.track(self._next(), process, name, about)
        return self._tracks

    def counter(self, process: int, name: str, unit: str) -> int:
        self.writer.counter(self._next(), process, name, unit)
        return self._tracks

    def _next(self) -> int:
        self._tracks += 1
        return self._tracks


@contextmanager
def open_sink(path: Path, writer: Writer) -> Iterator[Sink]:
    """The file appears when the block ends well."""
    with whole_bytes(path, _COMPRESSION) as file:
        sink = Sink(writer, file)
        yield sink
        writer.finish()
        sink.flush()
