"""A template in an unnamed file: large ones are never whole in memory.

Trade-off: it takes as much room on disk, unpacked, where `TMPDIR` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile

from yantra.base.errors import ConfigError
from yantra.chakra import Trace
from yantra.chakra.relative import Sums

_PIECE = 1 << 20  # bytes
_LAYOUT = "0.0.4"
_NO_METADATA = b"\0"


class Spool:
    """The content of an .et file without activations, given in pieces of whole nodes.

    Raises ConfigError where the file cannot be written.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        with _told():
            self._file = TemporaryFile()  # noqa: SIM115 - it lives as long as this
        self.size = 0
        sums = Sums()
        for piece in pieces:
            content = _NO_METADATA + piece if self.size else piece
            sums.add(Trace.from_bytes(content, layout=_LAYOUT))
            with _told():
                self.size += self._file.write(piece)
                self._file.flush()
        self.totals = sums.totals()

    def pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(_PIECE):
            yield piece

    def to_bytes(self) -> bytes:
        return b"".join(self.pieces())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot be written: {error.strerror}; set TMPDIR to a folder with more room"
        raise ConfigError("template", problem) from None
