"""A service's private folder, which a shell removes after the service's end, or the next service if
that was killed too.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress

import yantra

_PREFIX = "yantra-service-"
_LOCK = "lock"
_PARTS = "upload|configuration|results|fresh-[^/]*|old-[^/]*"
# Reads until the service ends. A job may write for under a second more.
_KEEPER = """read _
tries=0
while [ -e "$0" ] && [ $tries -lt 100 ]; do
    rm -rf -- "$0"
    sleep 0.1
    tries=$((tries + 1))
done
"""
_INSTALLED = os.path.dirname(os.path.abspath(yantra.__file__))


class Root:
    """A new folder, which ends with this process."""

    def __init__(self) -> None:
        remove_abandoned()
        self.path, self._lock = _new_folder()
        self._keeper: subprocess.Popen[bytes] | None = None
        with suppress(OSError):  # without a shell the next service cleans up after a kill
            self._keeper = subprocess.Popen(
                ("/bin/sh", "-c", _KEEPER, self.path),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        if self._keeper is not None:
            self._keeper.communicate()
        os.close(self._lock)


def _new_folder() -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        lock = os.open(os.path.join(path, _LOCK), flags, 0o600)
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        # Before the lock, another service could take it for abandoned.
        if os.fstat(lock).st_nlink:
            return path, lock
        os.close(lock)


def remove_abandoned() -> None:
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            is_folder = entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False)
            if is_folder and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                _remove_unless_held(entry.path)


def _remove_unless_held(root: str) -> None:
    with suppress(OSError):  # no lock yet, or no longer: another process makes or removes it
        lock = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(root, ignore_errors=True)
        finally:
            os.close(lock)


def shown(text: str, root: str) -> str:
    inside = re.compile(rf"{re.escape(root)}(?:/(?:{_PARTS})(?=/|$))?(?:/|(?![\w.-]))")
    return inside.sub("", text).replace(_INSTALLED, "yantra")
