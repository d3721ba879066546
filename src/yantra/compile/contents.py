"""Which files hold the same, without keeping large ones in memory.

Contents are told apart by a few hundred of their bytes. Where another has the same ones, small
contents are compared whole: they are kept. Large ones are not; both are told apart by a digest of
all bytes, for which the first is read once more.
"""

from __future__ import annotations

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
        self._small: dict[bytes, int] = {}
        self._sampled: dict[tuple[int, bytes], tuple[int, str]] = {}
        self._digested: dict[tuple[int, bytes], dict[bytes, int]] = {}
        self._count = 0

    def number(self, content: bytes, path: str) -> tuple[int, bool]:
        """Return the number of a content, and whether it is new."""
        sample = len(content), content[:: len(content) // _SAMPLED + 1]
        if len(content) <= SMALL:
            number = self._of_small(content, sample)
        else:
            number = self._of_large(content, sample, path)
        is_new = number == self._count
        self._count += is_new
        return number, is_new

    def _of_small(self, content: bytes, sample: tuple[int, bytes]) -> int:
        """Comparing costs far less than the hash of a content, which only a second one needs."""
        first, number = self._first.setdefault(sample, (content, self._count))
        if first == content:
            return number
        return self._small.setdefault(content, self._count)

    def _of_large(self, content: bytes, sample: tuple[int, bytes], path: str) -> int:
        if sample not in self._sampled:
            self._sampled[sample] = self._count, path
            return self._count
        digested = self._digested.get(sample)
        if digested is None:
            number, first = self._sampled[sample]
            digested = self._digested[sample] = {_digest(self._load(first)): number}
        return digested.setdefault(_digest(content), self._count)


def _digest(content: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(content).digest()
