"""Which files hold the same, without keeping large ones in memory.

Small contents are told apart by a few hundred of their bytes; where another has the same ones, they
are compared whole, as they are kept. Large ones are not: they are told apart by a hash of all their
bytes, as the traces of two ranks may differ in the names of a few groups alone. Where another has
the same hash, it is read once more and compared.
"""

from __future__ import annotations

from yantra import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 1 << 18
"""Bytes of a content that is kept."""

_SAMPLED = 256


class Contents:
    """Numbers contents as they come, equal ones alike. `load` reads a path again."""

    def __init__(self, load: Callable[[str], bytes]) -> None:
        self._load = load
        self._first: dict[tuple[int, bytes], tuple[bytes, int]] = {}
        self._small: dict[int, list[tuple[bytes, int]]] = {}
        self._hashed: dict[int, list[tuple[int, str]]] = {}
        self._count = 0

    def number(self, content: bytes, path: str) -> tuple[int, bool]:
        """Return the number of a content, and whether it is new."""
        if len(content) <= SMALL:
            sample = content[:: len(content) // _SAMPLED + 1]
            number = self._of_small(content, (len(content), sample))
        else:
            number = self._of_large(content, path)
        is_new = number == self._count
        self._count += is_new
        return number, is_new

    def _of_small(self, content: bytes, sample: tuple[int, bytes]) -> int:
        """Comparing costs far less than the hash of a content, which only a second one needs."""
        first, number = self._first.setdefault(sample, (content, self._count))
        if first == content:
            return number
        alike = self._small.setdefault(_core.content_hash(content), [])
        for known, number in alike:
            if known == content:
                return number
        alike.append((content, self._count))
        return self._count

    def _of_large(self, content: bytes, path: str) -> int:
        alike = self._hashed.setdefault(_core.content_hash(content), [])
        for number, first in alike:
            if self._load(first) == content:
                return number
        alike.append((self._count, path))
        return self._count
