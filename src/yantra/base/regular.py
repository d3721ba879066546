"""Reads whole files, of a size that is known before and fits the memory.

Only regular files: a pipe or a device may never end, or never begin. Trade-off: no input comes
through `<(...)` of a shell or from a pipe at `/dev/stdin`.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class NotRegularError(OSError):
    """The path names no regular file; `strerror` says what it names."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, whose `strerror` says why not.

    The file is looked at before it is opened, as opening a pipe waits for its other end, and once
    more when it is open.
    """
    _check(os.stat(path), path)
    file = open(path, "rb")  # noqa: SIM115  # the caller closes it
    try:
        _check(os.fstat(file.fileno()), path)
    except OSError:
        file.close()
        raise
    return file


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a regular file, as long as it is when it is opened."""
    with open_regular(path) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _check(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    for is_kind, name in _KINDS:
        if is_kind(mode):
            problem = f"it is {name}; expected a regular file"
            raise NotRegularError(errno.EINVAL, problem, os.fspath(path))
