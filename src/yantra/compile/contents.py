"""Finds files of equal content without keeping large ones.

The core hashes them (native/trace/known_files.hpp).
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from yantra import _core

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 1 << 18
"""Most bytes of a kept content."""


class Contents:
    """Numbers contents as they come; `load` reads a path again."""

    def __init__(self, load: Callable[[str], bytes]) -> None:
        self._load = load
        self.files = _core.KnownFiles()
        """The core's, for files it reads itself."""

    def number(self, content: bytes, path: str) -> tuple[int, bool]:
        hashed = _core.content_hash(content)
        for number, where, kept in self.files.alike(hashed):
            if content == (self._load(os.fsdecode(where)) if kept is None else kept):
                return number, False
        kept = content if len(content) <= SMALL else None
        return self.files.add(hashed, os.fsencode(path), kept), True
