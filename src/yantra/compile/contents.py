"""Which files hold the same, without keeping large ones in memory.

The core tells them apart by a hash of all their bytes (native/trace/known_files.hpp). Where another
has the same hash, it is read once more and compared, unless it is kept: small ones are that had to
be unpacked or looked at here.
"""

from __future__ import annotations

import os

from yantra import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 1 << 18
"""Bytes of a content that may be kept."""


class Contents:
    """Numbers contents as they come, equal ones alike. `load` reads a path again."""

    def __init__(self, load: Callable[[str], bytes]) -> None:
        self._load = load
        self.files = _core.KnownFiles()
        """The core's, which numbers the files that it reads itself."""

    def number(self, content: bytes, path: str) -> tuple[int, bool]:
        """Return the number of a content, and whether it is new."""
        hashed = _core.content_hash(content)
        for number, where, kept in self.files.alike(hashed):
            if content == (self._load(os.fsdecode(where)) if kept is None else kept):
                return number, False
        kept = content if len(content) <= SMALL else None
        return self.files.add(hashed, os.fsencode(path), kept), True
