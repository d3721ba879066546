"""Unpacks gzip, zlib and members of ZIP archives, to no more than the bounds of their file.

The size that a file states is not believed. Source: RFC 1950 to 1952; PKWARE, APPNOTE.TXT 6.3.10.
"""

from __future__ import annotations

import os
import zlib
from typing import IO, TYPE_CHECKING, Literal, NoReturn

from yantra.base import bounds
from yantra.base.errors import ConfigError
from yantra.base.notes import note
from yantra.base.text import format_bytes

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

GZIP = b"\x1f\x8b"
_AS_GZIP, _AS_ZLIB = 31, 15  # how zlib calls them
_TAIL = 4  # bytes at the end of a member of gzip: its length, modulo 2^32
_BLOCK, _IN = 1 << 20, 1 << 16


def unpack_gzip(data: bytes, where: str) -> bytes:
    """Return what the gzip in `data` unpacks to, of all its members; `where` is its file.

    Raises ConfigError where that is more than it may be, cut off or damaged.
    """
    most = bounds.of(len(data)).unpacked
    said = int.from_bytes(data[-_TAIL:], "little")
    if said > most:  # or cut off, where nothing says how long it is
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
    """Return what follows, at most so many bytes."""
    try:
        return unpacker.decompress(data, most)
    except zlib.error as error:
        raise _damaged(where, error) from None


def _damaged(where: str, error: Exception) -> ConfigError:
    return ConfigError(where, f"the gzip data is damaged: {str(error).rpartition(': ')[2]}")


class Unpacked:
    """A gzip file that is open, read from its beginning and within its bounds.

    `file` is the packed one, `size` its bytes and `where` its name, for errors. Faster than
    `gzip.GzipFile`, which reads by 8 KiB.
    """

    def __init__(self, file: IO[bytes], where: str, size: int) -> None:
        self._file = file
        self._where = where
        self._size = size
        self._most = bounds.of(size).unpacked
        self._begin()

    @classmethod
    def of(cls, file: IO[bytes], where: str) -> Unpacked:
        """Return one of an open file, counted where it says that it is too long."""
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
        """Look whether it is too long, as it says, and go back. Raises ConfigError.

        It is believed as soon as what was read so far packs as well as it says.
        """
        while self.read(_BLOCK):
            packed = self._read - len(self._left)
            if self._taken > max(bounds.ALWAYS, bounds.PER_BYTE * packed):
                _refuse_bomb(self._where, self._size, self._most)
        self.seek(0)

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, all that are left if it is below 0. Raises ConfigError."""
        if size < 0:
            return b"".join(iter(lambda: self.read(_BLOCK), b""))
        piece = self._piece(size)
        self._taken += len(piece)
        if self._taken > self._most:
            _refuse_bomb(self._where, self._size, self._most)
        return piece

    def seek(self, to: Literal[0]) -> None:
        """Go back to the beginning, the only place there is to go to."""
        self._file.seek(to)
        self._begin()

    def _begin(self) -> None:
        self._taken = self._read = 0  # bytes, unpacked and packed
        self._left = b""  # of what was read, packed
        self._unpacker = zlib.decompressobj(_AS_GZIP)
        self._is_inside = False  # a member has begun and not ended

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


def unpack_numbers(data: bytes) -> bytes:
    """Return what zlib's data of a column unpack to. Raises ValueError, also for too many."""
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
    """Raise ConfigError if an archive of `size` bytes says that its members are too large."""
    most = bounds.of(size).unpacked
    if sum(info.file_size for info in archive.infolist()) > most:
        _refuse_bomb(where, size, most)


def read_member(archive: ZipFile, info: ZipInfo) -> bytes:
    """Return the content of a member: no more than it says, which `check_members` looks at.

    Raises what `zipfile` does of what is damaged.
    """
    with archive.open(info) as file:
        return file.read(info.file_size + 1)  # and not all, which unpacks before it counts


def _tell(where: str, size: int, most: int) -> None:
    note(f"{where}: unpacks from {format_bytes(size)} to as much as {format_bytes(most)}")


def _refuse_bomb(where: str, size: int, most: int) -> NoReturn:
    why = f", {bounds.PER_BYTE} times its size" if most > bounds.ALWAYS else ""
    raise ConfigError(
        where,
        f"unpacks from {format_bytes(size)} to more than {format_bytes(most)}{why}; if it is meant "
        "to, unpack it first: what is not packed is read",
    )
