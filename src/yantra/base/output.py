"""Writes files so that nobody sees half of one.

The content goes to a new file in the same folder, renamed at the end; pipes and /dev/null are
written directly. The new file is locked, so that the next writer can remove what a killed process
left.

Trade-off: it waits for the disk only with `is_durable`.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import IO, cast

from yantra.base.errors import ConfigError, show

Path = str | os.PathLike[str]

HALVES = "backslashreplace"
"""What becomes of half a character, which a file name may have: `\\udcff`, also JSON's escape."""

_MODE = 0o666  # less the user's mask
_ENDING = ".tmp"
_UNFINISHED = re.compile(r"(.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)
_being_written: set[str] = set()
_left_behind: dict[str, dict[str, list[str]]] = {}  # by folder, by final file


def partial_name(path: Path) -> str:
    """Return the name of an interrupted write: `fct.partial.csv` of `fct.csv`."""
    folder, name = os.path.split(os.fspath(path))
    stem, dot, ending = name.partition(".")
    return os.path.join(folder, f"{stem}.partial{dot}{ending}")


@contextmanager
def whole_file(
    path: Path, *, keeps_partial: bool = False, is_durable: bool = False
) -> Iterator[str]:
    """Yield the name to write to; `path` gets the content when the block ends well.

    Raises ConfigError if it cannot be written.
    """
    where = os.fspath(path)
    if "\0" in where:
        raise ConfigError(show(where), "cannot be written: not a path")
    in_place = os.path.exists(where) and not os.path.isfile(where) and not os.path.isdir(where)
    unfinished, lock = where, None
    try:
        if not in_place:
            _remove_left_behind(where)
            unfinished, lock = _new_file(where)
        yield unfinished
        if is_durable:
            _sync(unfinished)
        if not in_place:
            os.replace(unfinished, where)
            if is_durable:
                _sync(os.path.dirname(where) or os.curdir)
    except KeyboardInterrupt:
        if keeps_partial and not in_place:
            os.replace(unfinished, partial_name(where))
        raise
    except OSError as error:
        why = "it is a folder" if os.path.isdir(where) else error.strerror or error
        raise ConfigError(where, f"cannot be written: {why}") from None
    finally:
        _remove(unfinished)
        if lock is not None:
            os.close(lock)


def remove_unfinished() -> None:
    for name in tuple(_being_written):
        _remove(name)


def _new_file(where: str) -> tuple[str, int]:
    while True:
        name = f"{where}.{os.urandom(4).hex()}{_ENDING}"
        _being_written.add(name)  # first: an interruption may follow at once
        try:
            lock = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, _MODE)
        except OSError:
            _being_written.discard(name)
            raise
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Before the lock another process could take it for a leftover.
        if os.fstat(lock).st_nlink:
            return name, lock
        _being_written.discard(name)
        os.close(lock)


def _remove(unfinished: str) -> None:
    if unfinished in _being_written:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        _being_written.discard(unfinished)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(files: Iterable[Path]) -> None:
    """Remove what killed processes left of these files, unless it is being written.

    Without locks everything stays.
    """
    _left_behind.clear()
    for file in files:
        _remove_left_behind(os.fspath(file))


def _remove_left_behind(file: str) -> None:
    folder, name = os.path.split(os.path.abspath(file))
    if folder not in _left_behind:
        _left_behind[folder] = _leftovers(folder)
    for left in _left_behind[folder].pop(name, ()):
        _remove_unless_written(os.path.join(folder, left))


def _leftovers(folder: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(_ENDING) and (left := _UNFINISHED.fullmatch(name)):
                found.setdefault(left[1], []).append(name)
    return found


def _remove_unless_written(file: str) -> None:
    with suppress(OSError):
        lock = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _try_lock(lock):
                os.remove(file)
        finally:
            os.close(lock)


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def whole_bytes(path: Path, level: int = 6, *, keeps_partial: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file for bytes; `path` gets them when the block ends well.

    Packs with gzip at `level` if `path` ends in `.gz`, reproducibly.
    """
    with whole_file(path, keeps_partial=keeps_partial) as name, open(name, "wb") as file:
        if not os.fspath(path).endswith(".gz"):
            yield file
            return
        from gzip import GzipFile

        with GzipFile("", "wb", level, file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


@contextmanager
def whole_text(path: Path) -> Iterator[IO[str]]:
    """As `whole_bytes`, for UTF-8 text with its line ends."""
    with whole_bytes(path) as file, TextIOWrapper(file, "utf-8", HALVES, newline="") as text:
        yield text


def make_folder(path: Path) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ConfigError(os.fspath(path), f"cannot be made: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file, whole or not at all."""
    with whole_file(path) as name, open(name, "wb") as file:
        file.write(text.encode(errors=HALVES))


def make_executable(path: Path) -> None:
    mode = os.stat(path).st_mode
    os.chmod(path, mode | (mode & 0o444) >> 2)
