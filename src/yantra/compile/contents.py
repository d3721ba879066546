"""Which files hold the same, without keeping large ones in memory.

They are told apart by a hash of all their bytes, as the traces of two ranks may differ in the names
of a few groups alone. Where another has the same hash, it is read once more and compared, unless
it is kept: small ones are that had to be unpacked or looked at here.
"""

from __future__ import annotations

import os

from yantra import _core
from yantra.base.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 1 << 18
"""Bytes of a content that may be kept."""


class _Known(NamedTuple):
    """A content that was seen: its number, the first file that has it, and itself if it is kept."""

    number: int
    path: str
    kept: bytes | None


class Contents:
    """Numbers contents as they come, equal ones alike. `load` reads a path again."""

    def __init__(self, load: Callable[[str], bytes]) -> None:
        self._load = load
        self._hashed: dict[int, list[_Known]] = {}
        self._count = 0

    def number(self, content: bytes | _core.SmallFile, path: str) -> tuple[int, bool]:
        """Return the number of a content, and whether it is new."""
        kept = content if isinstance(content, bytes) and len(content) <= SMALL else None
        hashed = _core.content_hash(content) if isinstance(content, bytes) else content.hash()
        alike = self._hashed.setdefault(hashed, [])
        for known in alike:
            if self._is_same(content, known):
                return known.number, False
        alike.append(_Known(self._count, path, kept))
        self._count += 1
        return self._count - 1, True

    def _is_same(self, content: bytes | _core.SmallFile, known: _Known) -> bool:
        if not isinstance(content, bytes):
            if known.kept is None and content.is_same(os.fsencode(known.path)):
                return True
            content = content.content()  # what is packed in one file may be plain in another
        return content == (known.kept or self._load(known.path))
