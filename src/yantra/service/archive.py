"""Uploads: a ZIP archive of plain files and folders, checked, then unpacked below a limit.

Source: PKWARE, APPNOTE.TXT 6.3.10, entries and attributes.
"""

from __future__ import annotations

import os
import stat
import tempfile
import zlib
from io import BytesIO
from typing import IO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from yantra.base.errors import ConfigError, show
from yantra.base.units import format_size

_HEADS = (b"PK\x03\x04", b"PK\x05\x06")  # of an entry, and of an empty archive's end
_ENTRY_OF_DIRECTORY = b"PK\x01\x02"
_ENCRYPTED = 0x1
_LONGEST_NAME, _LONGEST_PATH, _DEEPEST = 255, 1024, 16
_BLOCK = 1 << 20
_MOST_PER_BYTE, _ALWAYS_ALLOWED = 200, 64 << 20  # deflate reaches 1032 bytes for one


class ArchiveLimits(NamedTuple):
    """Most packed and unpacked bytes, and entries."""

    packed: int = 256 << 20
    unpacked: int = 1 << 30
    entries: int = 200_000


def unpack(data: bytes, folder: str, limits: ArchiveLimits) -> list[str]:
    """Unpack into an empty folder; return paths inside it."""
    archive = _opened(data, limits)
    entries = archive.infolist()
    names = _checked(entries, len(data), limits)
    left = limits.unpacked
    for entry, path in zip(entries, names, strict=True):
        target = os.path.join(folder, *path)
        if entry.is_dir():
            os.makedirs(target, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        left -= _write(archive, entry, target, left)
    return [
        "/".join(path) for entry, path in zip(entries, names, strict=True) if not entry.is_dir()
    ]


def pack(*folders: str) -> IO[bytes]:
    """Pack folders; of several files with one name that of the last folder counts."""
    paths: dict[str, str] = {}
    for folder in folders:
        for root, _, files in os.walk(folder):
            for file in files:
                path = os.path.join(root, file)
                paths[os.path.relpath(path, folder)] = path
    out = tempfile.TemporaryFile()  # noqa: SIM115  # the caller reads and closes it
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, path in sorted(paths.items()):
            archive.write(path, name)
    out.seek(0)
    return out


def _opened(data: bytes, limits: ArchiveLimits) -> ZipFile:
    if len(data) > limits.packed:
        raise _refused(f"is larger than {format_size(limits.packed)}")
    if not data.startswith(_HEADS):
        raise _refused("is not a ZIP archive; expected one that begins with a file")
    # Reading the directory reads all of it.
    if data.count(_ENTRY_OF_DIRECTORY) > limits.entries:
        raise _refused(f"has more than {limits.entries} entries")
    try:
        return ZipFile(BytesIO(data))
    except (BadZipFile, ValueError, NotImplementedError, UnicodeError, OverflowError) as error:
        raise _refused(f"cannot be read: {error}") from None


def _refused(problem: str, entry: str | None = None) -> ConfigError:
    return ConfigError("upload" if entry is None else f"upload, {show(entry)}", problem)


def _checked(entries: list[ZipInfo], packed: int, limits: ArchiveLimits) -> list[tuple[str, ...]]:
    if not entries:
        raise _refused("is empty; expected the traces of a workload")
    files: set[tuple[str, ...]] = set()
    folders: set[tuple[str, ...]] = set()
    paths, unpacked = [], 0
    for entry in entries:
        path = _path(entry)
        _check_kind(entry)
        if path in files or (path in folders and not entry.is_dir()):
            raise _refused("is there twice", entry.orig_filename)
        if not entry.is_dir():
            files.add(path)
        folders.update(path[:depth] for depth in range(1, len(path) + entry.is_dir()))
        unpacked += entry.file_size
        if unpacked > limits.unpacked:
            problem = f"unpacks to more than {format_size(limits.unpacked)}"
            raise _refused(problem, entry.orig_filename)
        paths.append(path)
    if clash := files & folders:
        raise _refused("is a file and a folder", "/".join(min(clash)))
    if sum(entry.compress_size for entry in entries) > packed:
        raise _refused("says that its entries are larger than it is")
    if unpacked > max(_ALWAYS_ALLOWED, _MOST_PER_BYTE * packed):
        raise _refused(
            f"unpacks from {format_size(packed)} to {format_size(unpacked)}, more than "
            f"{_MOST_PER_BYTE} times its size"
        )
    return paths


def _path(entry: ZipInfo) -> tuple[str, ...]:
    """`orig_filename` is as in the archive; zipfile cuts the other at a NUL."""
    name = entry.orig_filename
    if not name or len(name) > _LONGEST_PATH:
        raise _refused(f"has a name of {len(name)} characters; expected 1 to {_LONGEST_PATH}", name)
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise _refused("has a control character in its name", name)
    if "\\" in name or ":" in name:
        raise _refused("has a backslash or a colon in its name; expected folder/file", name)
    if name.startswith("/"):
        raise _refused("has an absolute path; expected one inside the archive", name)
    parts = tuple(name.removesuffix("/").split("/"))
    if any(part in ("", ".", "..") for part in parts):
        raise _refused("has a path that leaves its folder, or an empty part", name)
    if len(parts) > _DEEPEST:
        raise _refused(f"is deeper than {_DEEPEST} folders", name)
    try:
        longest = max(len(part.encode()) for part in parts)
    except UnicodeEncodeError:
        raise _refused("has a name that is not text", name) from None
    if longest > _LONGEST_NAME:
        raise _refused(f"has a name longer than {_LONGEST_NAME} bytes", name)
    return parts


def _check_kind(entry: ZipInfo) -> None:
    name = entry.orig_filename
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        what = "a link" if stat.S_ISLNK(mode) else "a device, pipe or socket"
        raise _refused(f"is {what}; expected files and folders alone", name)
    if (kind == stat.S_IFDIR and not entry.is_dir()) or (kind == stat.S_IFREG and entry.is_dir()):
        raise _refused("says that it is a file and a folder", name)
    if entry.flag_bits & _ENCRYPTED:
        raise _refused("is encrypted", name)
    if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        problem = f"is packed by method {entry.compress_type}; expected stored (0) or deflated (8)"
        raise _refused(problem, name)
    if entry.is_dir() and entry.file_size:
        raise _refused("is a folder with content", name)


def _write(archive: ZipFile, entry: ZipInfo, target: str, most: int) -> int:
    written = 0
    try:
        with archive.open(entry) as source, open(target, "xb") as file:
            while block := source.read(_BLOCK):
                written += len(block)
                if written > most:
                    raise _refused("unpacks to more than it says", entry.orig_filename)
                file.write(block)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise _refused(f"cannot be unpacked: {error}", entry.orig_filename) from None
    if written != entry.file_size:
        problem = f"has {written} bytes, but says {entry.file_size}"
        raise _refused(problem, entry.orig_filename)
    return written
