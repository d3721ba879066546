"""Writing files so that nobody ever sees half of one.

The content goes to a new file in the same folder, which then takes the name in one step. A reader
finds the old file or the new one; a failing write leaves what was there. What is not a regular
file, such as a pipe or /dev/null, is written to as it is: renaming would replace it.

A process that is killed leaves its new file behind. While it writes it holds a lock on it, which
ends with the process; so `remove_leftovers` can tell such a file from one that is being written.
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

_MODE = 0o666  # less what the user's mask takes away, as of any new file
_UNFINISHED = re.compile(r"(.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)


def partial_name(path: Path) -> str:
    """Return the name for what an interrupted command wrote: `fct.partial.csv` of `fct.csv`."""
    folder, name = os.path.split(os.fspath(path))
    stem, dot, ending = name.partition(".")
    return os.path.join(folder, f"{stem}.partial{dot}{ending}")


@contextmanager
def whole_file(path: Path, *, keeps_partial: bool = False) -> Iterator[str]:
    """Yield the name to write to; `path` gets what was written there when the block ends well.

    With `keeps_partial` what was written when the block is interrupted is kept as `partial_name`.
    Raises ConfigError when the file cannot be written; the block may raise what it likes.
    """
    where = os.fspath(path)
    if "\0" in where:
        raise ConfigError(show(where), "cannot be written: not a path")
    in_place = os.path.exists(where) and not os.path.isfile(where) and not os.path.isdir(where)
    unfinished = where if in_place else f"{where}.{os.urandom(4).hex()}.tmp"
    lock = None
    try:
        if not in_place:
            lock = os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, _MODE)
            _try_lock(lock)
        yield unfinished
        if not in_place:
            os.replace(unfinished, where)
    except KeyboardInterrupt:
        if keeps_partial and not in_place:
            os.replace(unfinished, partial_name(where))
        raise
    except OSError as error:
        raise ConfigError(where, f"cannot be written: {error.strerror or error}") from None
    finally:
        if not in_place and os.path.exists(unfinished):
            os.remove(unfinished)
        if lock is not None:
            os.close(lock)


def remove_leftovers(files: Iterable[Path]) -> None:
    """Remove what killed processes left when they wrote these files; nothing that is being written.

    On a file system without locks everything stays.
    """
    wanted = {os.path.abspath(file) for file in files}
    for folder in {os.path.dirname(file) for file in wanted}:
        with suppress(FileNotFoundError):
            for name in os.listdir(folder):
                left = _UNFINISHED.fullmatch(name)
                if left and os.path.join(folder, left[1]) in wanted:
                    _remove_unless_written(os.path.join(folder, name))


def _remove_unless_written(file: str) -> None:
    with suppress(OSError):
        lock = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
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
    with whole_bytes(path) as file, TextIOWrapper(file, "utf-8", newline="") as text:
        yield text


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless it is there."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ConfigError(os.fspath(path), f"cannot be made: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, UTF-8, whole or not at all."""
    with whole_file(path) as name, open(name, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def make_executable(path: Path) -> None:
    """Let a file that was written be run as a program, by whoever may read it."""
    mode = os.stat(path).st_mode
    os.chmod(path, mode | (mode & 0o444) >> 2)
