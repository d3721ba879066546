"""Numbers and permutations from a key alone, by keyed BLAKE2b (RFC 7693): equal in every
process.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from hashlib import blake2b
from math import log
from typing import TypeVar

from yantra.base.errors import ConfigError

_BYTES = 16
_BLOCK = 64
_Value = TypeVar("_Value", bound=Hashable)


class Keyed:
    """Pseudo-random functions under a key of at least one byte."""

    def __init__(self, key: bytes) -> None:
        if not key:
            raise ConfigError("key", "is empty; expected a file or a text with a secret")
        self._key = blake2b(key, digest_size=32, person=b"yantra hide").digest()

    def number(self, purpose: str, *arguments: object) -> int:
        return int.from_bytes(self._digest(purpose, arguments, _BYTES), "big")

    def stream(self, purpose: str) -> Iterator[int]:
        block = 0
        while True:
            yield from self._digest(purpose, (block,), _BLOCK)
            block += 1

    def permuted(self, purpose: str, values: Iterable[_Value], first: int = 0) -> dict[_Value, int]:
        """Number distinct values from `first` on, in an order only the key gives."""
        order = sorted(set(values), key=lambda value: self._digest(purpose, (value,), _BYTES))
        return {value: first + at for at, value in enumerate(order)}

    def laplace(self, scale: float, purpose: str, *arguments: object) -> float:
        """A Laplace number of mean 0, by inversion."""
        uniform = (self.number(purpose, *arguments) + 0.5) / (1 << 8 * _BYTES) - 0.5
        sign = 1.0 if uniform >= 0 else -1.0
        return -scale * sign * log(max(1 - 2 * abs(uniform), 1e-300))

    def _digest(self, purpose: str, arguments: tuple[object, ...], size: int) -> bytes:
        text = repr((purpose, *arguments)).encode()
        return blake2b(text, digest_size=size, key=self._key).digest()
