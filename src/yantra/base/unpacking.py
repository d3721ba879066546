"""Unpacks gzip, zlib and ZIP members within their file's bounds;

stated sizes are not believed. Source: RFC 1950 to 1952; PKWARE, APPNOTE.TXT 6.3.10.
"""

from __future__ import annotations

import os
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Literal, NoReturn

from yantra.base import bounds
from yantra.base.errors import ConfigError
from yantra.base.notes import note
from yantra.base.regular import open_regular
from yantra.base.text import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zipfile import ZipFile, ZipInfo

GZIP = b"\x1f\x8b"
_AS_GZIP, _AS_ZLIB = 31, 15  # zlib's window codes
_TAIL = 4  # bytes of a gzip member's length, modulo 2^32
_BLOCK, _IN = 1 << 20, 1 << 16


def unpack_gzip(data: bytes, where: str) -> bytes:
    """Return what gzip `data` unpacks to, all members; `where` is its file."""
    most = bounds.of(len(data)).unpacked
    said = int.from_bytes(data[-_TAIL:], "little")
    if said > most:  # or cut off, without a length
        from io import BytesIO

        Unpacked(BytesIO(data), where, len(data)).count()
    is_told = said > bounds.WORTH_TELLING
    if is_told:
        _tell(where, len(data), said)
    pieces: list[bytes] = []
    rest, left = data, most
    while rest:
        unpacker = zlib.decompressobj(_AS_GZIP)
        at_once = left if is_told else min(left, bounds.WORTH_TELLING)
        pieces.append(_more(unpacker, rest, at_once or 1, where))
        if unpacker.unconsumed_tail and at_once < left:  # longer than it says
            is_told = True
            _tell(where, len(data), most)
            pieces.append(_more(unpacker, unpacker.unconsumed_tail, left - at_once, where))
        if not unpacker.eof:  # all is there, or more than may be
            pieces.append(_more(unpacker, unpacker.unconsumed_tail, 1, where))
        left = most - sum(map(len, pieces))
        if left < 0:
            _refuse_bomb(where, len(data), most)
        if not unpacker.eof:
            raise ConfigError(where, "the gzip data is truncated")
        rest = unpacker.unused_data.lstrip(b"\0")  # tapes fill their blocks with it
    return b"".join(filter(None, pieces))  # no copy of the only one


def _more(unpacker: zlib._Decompress, data: bytes, most: int, where: str) -> bytes:
    try:
        return unpacker.decompress(data, most)
    except zlib.error as error:
        raise _damaged(where, error) from None


def _damaged(where: str, error: Exception) -> ConfigError:
    return ConfigError(where, f"the gzip data is damaged: {str(error).rpartition(': ')[2]}")


class Unpacked:
    """An open gzip file, read sequentially within its bounds."""

    def __init__(self, file: IO[bytes], where: str, size: int) -> None:
        self._file = file
        self._where = where
        self._size = size
        self._most = bounds.of(size).unpacked
        self._begin()

    @classmethod
    def of(cls, file: IO[bytes], where: str) -> Unpacked:
        size = os.fstat(file.fileno()).st_size
        file.seek(-min(_TAIL, size), os.SEEK_END)
        said = int.from_bytes(file.read(_TAIL), "little")
        made = cls(file, where, size)
        made.seek(0)
        if said > made._most:
            made.count()
        elif said > bounds.WORTH_TELLING:
            _tell(where, size, said)
        return made

    def count(self) -> None:
        """Check the stated length, and go back. Raises ConfigError."""
        while self.read(_BLOCK):
            packed = self._read - len(self._left)
            if self._taken > max(bounds.ALWAYS, bounds.PER_BYTE * packed):
                _refuse_bomb(self._where, self._size, self._most)
        self.seek(0)

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK), b""))
        piece = self._piece(size)
        self._taken += len(piece)
        if self._taken > self._most:
            _refuse_bomb(self._where, self._size, self._most)
        return piece

    def seek(self, to: Literal[0]) -> None:
        self._file.seek(to)
        self._begin()

    def _begin(self) -> None:
        self._taken = self._read = 0  # bytes, unpacked and packed
        self._left = b""  # of what was read, packed
        self._unpacker = zlib.decompressobj(_AS_GZIP)
        self._is_inside = False  # in a member

    def _piece(self, size: int) -> bytes:
        while True:
            if not self._left:
                self._left = self._file.read(_IN)
                self._read += len(self._left)
            if not (self._left or self._is_inside):
                return b""
            is_last = not self._left
            piece = _more(self._unpacker, self._left, size, self._where)
            self._left = self._unpacker.unconsumed_tail
            self._is_inside = not self._unpacker.eof
            if self._unpacker.eof:
                self._left = self._unpacker.unused_data.lstrip(b"\0")
                self._unpacker = zlib.decompressobj(_AS_GZIP)
            if piece:
                return piece
            if is_last and self._is_inside:
                raise ConfigError(self._where, "the gzip data is truncated")


@contextmanager
def open_unpacked(path: str) -> Iterator[IO[bytes] | Unpacked]:
    """A regular file's content, unpacked if it is gzip. Raises OSError or ConfigError."""
    with open_regular(path) as raw:
        is_packed = raw.read(len(GZIP)) == GZIP
        raw.seek(0)
        yield Unpacked.of(raw, path) if is_packed else raw


def unpack_numbers(data: bytes) -> bytes:
    most = bounds.of(len(data)).numbers
    unpacker = zlib.decompressobj(_AS_ZLIB)
    try:
        plain = unpacker.decompress(data, most)
        rest = b"" if unpacker.eof else unpacker.decompress(unpacker.unconsumed_tail, 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if rest or not unpacker.eof or unpacker.unused_data:
        raise ValueError("longer than it may be, or cut off")
    return plain


def check_members(archive: ZipFile, where: str, size: int) -> None:
    most = bounds.of(size).unpacked
    if sum(info.file_size for info in archive.infolist()) > most:
        _refuse_bomb(where, size, most)


def read_member(archive: ZipFile, info: ZipInfo) -> bytes:
    """Return a member's content, at most its stated size, which `check_members` checks.

    Raises as `zipfile`.
    """
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # reading all would unpack before counting


def _tell(where: str, size: int, most: int) -> None:
    note(f"{where}: unpacks from {format_bytes(size)} to as much as {format_bytes(most)}")


def _refuse_bomb(where: str, size: int, most: int) -> NoReturn:
    why = f", {bounds.PER_BYTE} times its size" if most > bounds.ALWAYS else ""
    raise ConfigError(
        where,
        f"unpacks from {format_bytes(size)} to more than {format_bytes(most)}{why}; if it is meant "
        "to, unpack it first: what is not packed is read",
    )
