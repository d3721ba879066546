"""Trace files as bytes: plain or gzip, written whole or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from yantra.base.errors import ConfigError, TraceError, did_you_mean
from yantra.base.regular import open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

GZIP = b"\x1f\x8b"
_OTHER_PACKERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}

_PIECE = 1 << 22  # bytes

_JSON_OBJECT = rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*["}]'
_BINARY = rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"  # never in JSON text


def load(path: str | os.PathLike[str]) -> bytes:
    where = os.fspath(path)
    with _told(where):
        data = read_regular(path)
    return unpack(data, where)


class Content:
    """A trace file's content, unpacked, in pieces. Only what is packed is held.

    Raises TraceError as `load`.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with _told(self.path), open_regular(path) as file:
            self.size = os.fstat(file.fileno()).st_size
            is_packed = file.read(len(GZIP)) == GZIP
        self._held = load(path) if is_packed else None
        if self._held is not None:
            self.size = len(self._held)

    def pieces(self) -> Iterator[bytes]:
        if self._held is not None:
            yield self._held
            return
        with _told(self.path), open_regular(self.path) as file:
            while piece := file.read(_PIECE):
                yield piece

    def whole(self) -> bytes:
        return load(self.path) if self._held is None else self._held


@contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise TraceError(f"{where}: no such file{near(where)}") from None
    except IsADirectoryError:
        raise TraceError(f"{where}: is a folder; expected a Chakra trace file (.et)") from None
    except OSError as error:
        raise TraceError(f"{where}: cannot be read: {error.strerror}") from None


def unpack(data: bytes, where: str) -> bytes:
    """Unpack if gzip. Raises TraceError, also for unbounded sizes."""
    if data[:2] != GZIP:
        return data
    from yantra.base.unpacking import unpack_gzip

    try:
        return unpack_gzip(data, where)
    except ConfigError as error:
        raise TraceError(str(error)) from None


def save(data: bytes, path: str | os.PathLike[str]) -> None:
    save_pieces([data], path)


def save_pieces(pieces: Iterable[bytes], path: str | os.PathLike[str]) -> None:
    """As `save`, taking one piece at a time."""
    from contextlib import nullcontext

    from yantra.base.output import whole_file

    packed = os.fspath(path).endswith(".gz")
    try:
        with (
            whole_file(path) as name,
            open(name, "wb") as file,
            _packing(file) if packed else nullcontext(file) as content,
        ):
            for piece in pieces:
                content.write(piece)
    except ConfigError as error:
        raise TraceError(str(error)) from None


def save_text(pieces: Iterable[str], path: str | os.PathLike[str]) -> None:
    """Write text as UTF-8, whole or not at all."""
    from yantra.base.output import HALVES, whole_file

    try:
        with (
            whole_file(path) as name,
            open(name, "w", encoding="utf-8", errors=HALVES, newline="") as file,
        ):
            file.writelines(pieces)
    except ConfigError as error:
        raise TraceError(str(error)) from None


def is_json(data: bytes) -> bool:
    """Whether it is a JSON object, not an .et file, which may begin like one."""
    head = data[:4096]
    if head.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] != b"{":
        return False
    import re

    return re.match(_JSON_OBJECT, head) is not None and not re.search(_BINARY, head)


def what_it_is(data: bytes) -> str:
    for magic, name in _OTHER_PACKERS.items():
        if data.startswith(magic):
            return (
                f"this is a {name} file; expected a Chakra trace (.et), plain or packed with gzip"
            )
    try:
        text = data[:4096].decode()
    except UnicodeDecodeError as error:
        if error.start < 4000:
            return ""
        text = data[: error.start].decode()
    if not all(character.isprintable() or character.isspace() for character in text):
        return ""
    if text.lstrip()[:1] in ("{", "["):
        return "this is JSON; expected a Chakra trace (.et)"
    return "this is a text file; expected a Chakra trace (.et)"


def _packing(file: BinaryIO) -> BinaryIO:
    # No time or name: equal traces make equal files.
    import gzip

    return cast("BinaryIO", gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))


def near(path: str) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder or "."):
        return f"; the folder {folder} does not exist"
    return did_you_mean(name, sorted(os.listdir(folder or ".")))
