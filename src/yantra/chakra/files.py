"""Trace files as bytes: plain or gzip, written whole or not at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, cast

from yantra.base.errors import ConfigError, TraceError, did_you_mean
from yantra.base.regular import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable

GZIP = b"\x1f\x8b"
_OTHER_PACKERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
}

_JSON_OBJECT = rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*["}]'
_BINARY = rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"  # never in JSON text


def load(path: str | os.PathLike[str]) -> bytes:
    where = os.fspath(path)
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise TraceError(f"{where}: no such file{near(where)}") from None
    except IsADirectoryError:
        raise TraceError(f"{where}: is a folder; expected a Chakra trace file (.et)") from None
    except OSError as error:
        raise TraceError(f"{where}: cannot be read: {error.strerror}") from None
    return unpack(data, where)


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
