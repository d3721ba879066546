"""The folder of a service: nobody else reads it, and it does not outlive the service.

The service holds a lock on it. A service that was killed lets go of the lock, and its worker
removes the folder; where that was killed as well, the next service does. What a client is told of a
file in it begins where the client's own part begins: `shown`.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress

import yantra

_PREFIX = "yantra-service-"
_LOCK = "lock"
_PARTS = "upload|configuration|results|fresh-[^/]*|old-[^/]*"
_TRIES, _PAUSE_S = 50, 0.02
_INSTALLED = os.path.dirname(os.path.abspath(yantra.__file__))


class Root:
    """A new folder, locked as long as this is open."""

    def __init__(self) -> None:
        remove_abandoned()
        self.path = tempfile.mkdtemp(prefix=_PREFIX)
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._lock = os.open(os.path.join(self.path, _LOCK), flags, 0o600)
        with suppress(OSError):  # there are file systems without locks
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove the folder with all that is in it."""
        remove(self.path)
        os.close(self._lock)


def remove(root: str) -> None:
    """Remove the folder of a service, also while a job of it is writing its last."""
    for _ in range(_TRIES):
        shutil.rmtree(root, ignore_errors=True)
        if not os.path.exists(root):
            return
        time.sleep(_PAUSE_S)


def remove_abandoned() -> None:
    """Remove the folders of services of this user that were killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            is_folder = entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False)
            if is_folder and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                _remove_unless_held(entry.path)


def _remove_unless_held(root: str) -> None:
    with suppress(OSError):  # it has no lock yet, or no longer: another process makes or removes it
        lock = os.open(os.path.join(root, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(root, ignore_errors=True)
        finally:
            os.close(lock)


def shown(text: str, root: str) -> str:
    """Return a text for a client: paths begin in its own part of the folder, not of this host."""
    inside = re.compile(rf"{re.escape(root)}(?:/(?:{_PARTS}))?/?")
    return inside.sub("", text).replace(_INSTALLED, "yantra")
