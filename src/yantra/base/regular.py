"""Reads regular files whose size is known first.

Trade-off: no pipes, such as a shell's `<(...)`.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from io import BufferedReader

_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


last: list[tuple[str | os.PathLike[str], int]] = []
"""The file that was read last and its size in bytes: what took the memory, if there is too little.
"""


class NotRegularError(OSError):
    """No regular file; `strerror` says what it is."""


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file. Raises OSError, whose `strerror` says why not."""
    return os.fdopen(_open(path)[0], "rb")


def sha256_of(path: str, name: str = "") -> str:
    """Return a regular file's SHA-256 in hex.

    Raises ConfigError with `name` if it cannot be read.
    """
    import hashlib

    from yantra.base.errors import ConfigError

    try:
        with open_regular(path) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise ConfigError(name or path, problem) from None


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Return a regular file's content, as long as when opened."""
    descriptor, size = _open(path)
    try:
        content = os.read(descriptor, size)
        while 0 < len(content) < size:  # a call returns at most 2 GiB
            more = os.read(descriptor, size - len(content))
            if not more:
                break
            content += more
        return content
    finally:
        os.close(descriptor)


def _open(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return a regular file's descriptor and size.

    Does not wait, as opening a pipe would.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket, or a missing device
            _refuse(os.stat(path).st_mode, path)
        raise
    status = os.fstat(descriptor)
    last[:] = [(path, status.st_size)]
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        _refuse(status.st_mode, path)
    return descriptor, status.st_size


def _refuse(mode: int, path: str | os.PathLike[str]) -> NoReturn:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    name = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
    problem = f"it is {name}; expected a regular file"
    raise NotRegularError(errno.EINVAL, problem, os.fspath(path))
