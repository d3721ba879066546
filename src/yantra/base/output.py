"""Writing files so that nobody ever sees half of one.

The content goes to a new file in the same folder, which then takes the name in one step; a pipe or
/dev/null is written to as it is. The new file is locked while it is written, so that the next
writer can remove what a killed process left.

Trade-off: the disk is waited for only where that is asked for (`is_durable`).
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

_MODE = 0o666  # less what the user's mask takes away, as of any new file
_ENDING = ".tmp"
_UNFINISHED = re.compile(r"(.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)
_being_written: set[str] = set()
_left_behind: dict[str, dict[str, list[str]]] = {}  # by folder, by the file that was written


def partial_name(path: Path) -> str:
    """Return the name for what an interrupted command wrote: `fct.partial.csv` of `fct.csv`."""
    folder, name = os.path.split(os.fspath(path))
    stem, dot, ending = name.partition(".")
    return os.path.join(folder, f"{stem}.partial{dot}{ending}")


@contextmanager
def whole_file(
    path: Path, *, keeps_partial: bool = False, is_durable: bool = False
) -> Iterator[str]:
    """Yield the name to write to; `path` gets what was written there when the block ends well.

    With `keeps_partial` what was written when the block is interrupted is kept as `partial_name`;
    with `is_durable` the file is on the disk when this ends. Raises ConfigError when the file
    cannot be written; the block may raise what it likes.
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
        raise ConfigError(where, f"cannot be written: {error.strerror or error}") from None
    finally:
        _remove(unfinished)
        if lock is not None:
            os.close(lock)


def remove_unfinished() -> None:
    """Remove what this process has begun to write; what a command calls that was interrupted."""
    for name in tuple(_being_written):
        _remove(name)


def _new_file(where: str) -> tuple[str, int]:
    """Make a new file beside the one to be written; return its name and its descriptor, locked."""
    while True:
        name = f"{where}.{os.urandom(4).hex()}{_ENDING}"
        _being_written.add(name)  # first: an interruption may come right after it is there
        try:
            lock = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, _MODE)
        except OSError:
            _being_written.discard(name)
            raise
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Before it was locked, another process could take it for a leftover.
        if os.fstat(lock).st_nlink:
            return name, lock
        _being_written.discard(name)
        os.close(lock)


def _remove(unfinished: str) -> None:
    """Remove a file of ours unless it has taken its name; anything else stays."""
    if unfinished in _being_written:
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        _being_written.discard(unfinished)


def _sync(path: str) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_leftovers(files: Iterable[Path]) -> None:
    """Remove what killed processes left when they wrote these files; nothing that is being written.

    On a file system without locks everything stays.
    """
    _left_behind.clear()
    for file in files:
        _remove_left_behind(os.fspath(file))


def _remove_left_behind(file: str) -> None:
    """Remove what killed processes left of one file; its folder is listed once in a process."""
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
    """Lock an open file; return False if another process has it, or if there are no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def whole_bytes(path: Path, level: int = 6, *, keeps_partial: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file for bytes; `path` gets what was written there when the block ends well.

    Packed with gzip at `level` where `path` ends in `.gz`; equal content gives equal bytes. Else as
    `whole_file`, and raises as it does.
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
    """Yield a file for text, UTF-8, whose ends of lines are kept; else as `whole_bytes`."""
    with whole_bytes(path) as file, TextIOWrapper(file, "utf-8", HALVES, newline="") as text:
        yield text


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless it is there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ConfigError(os.fspath(path), f"cannot be made: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, UTF-8, whole or not at all."""
    with whole_file(path) as name, open(name, "wb") as file:
        file.write(text.encode(errors=HALVES))


def make_executable(path: Path) -> None:
    """Let a file that was written be run as a program, by whoever may read it."""
    mode = os.stat(path).st_mode
    os.chmod(path, mode | (mode & 0o444) >> 2)
