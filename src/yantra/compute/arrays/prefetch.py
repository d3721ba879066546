"""Double-buffered scratchpads word by word, as SCALE-Sim's: what they fetch, when arrays wait.

One half is in use while the other is fetched, cyclically in a fixed order of the operand. A word
outside brings in halves until it is there, so if use has another order, a small scratchpad fetches
many times the operand: SCALE-Sim's stalls.

Trade-off: about a million words a second, to compare with SCALE-Sim, not to search. Source:
SCALE-Sim 3.0.0 (read and write buffers), observed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from yantra.compute.arrays.layers import NOTHING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

SETS = 100
"""A scratchpad is followed in hundredths, half of them in use."""
_HIT = 1
_LINK = 1  # cycles of a request to memory


def reads_without_waiting(demands: Iterable[Words], size: int) -> int:
    capacity = SETS // 2 * (size // SETS)
    held: set[int] = set()
    fetched = 0
    for demand in demands:
        for word in demand[demand != NOTHING].ravel().tolist():
            if word not in held:
                held.add(word)
                fetched += 1
                if len(held) == capacity:
                    held = set()
    return fetched


class Prefetcher:
    """`fetched` counts words requested so far."""

    def __init__(self, fetch: Words, size: int, bandwidth: int) -> None:
        in_use = -(-size // 2)
        per_set = -(-size // SETS)
        self._places, self._lines = _places(fetch, per_set)
        self._in_use = min(self._lines, -(-in_use // per_set))
        rest = self._lines - self._in_use
        self._step = min(rest, -(-(size - in_use) // per_set))
        requests = min(-(-in_use // bandwidth), -(-fetch.size // bandwidth))
        self._requests = -(-(size - in_use) // bandwidth)
        self._bandwidth = bandwidth
        self._start = 0
        self._ready = -1  # the first half is ready at the start
        self.fetched = requests * bandwidth

    def wait(self, cycle: int, words: list[int]) -> int:
        offset = _HIT
        for word in words:
            while not self._holds(word):
                self._start = (self._start + self._step) % self._lines
                self._ready += self._requests + _LINK
                self.fetched += self._requests * self._bandwidth
                late = self._ready - (cycle + offset)
                offset += 2 * late if late > 0 else late
        return offset - _HIT

    def _holds(self, word: int) -> bool:
        lines = self._lines
        return any((line - self._start) % lines < self._in_use for line in self._places[word])


def _places(fetch: Words, per_set: int) -> tuple[dict[int, list[int]], int]:
    places: dict[int, list[int]] = {}
    words = fetch[fetch != NOTHING].ravel().tolist()
    for at, word in enumerate(words):
        places.setdefault(word, []).append(at // per_set)
    return places, len(words) // per_set + 1


class Writer:
    def __init__(self, size: int, bandwidth: int) -> None:
        in_use = -(-size // 2)
        self._size = size
        self._drained = size - in_use
        self._free = size
        self._bandwidth = bandwidth
        self._lines: deque[int] = deque()
        self._begun = 0
        self._busy_until = 0
        self.written = 0

    def wait(self, cycle: int, words: int) -> int:
        now = cycle
        for _ in range(words):
            self._store()
            if now < self._busy_until:
                if self._free <= 0:
                    now = self._busy_until
            elif self._free < self._size - self._drained:
                self._busy_until = now + self._drain() - 1
        return now - cycle

    def finish(self) -> None:
        """Drain what is left."""
        self._flush()
        while self._lines:
            self._drain()

    def _store(self) -> None:
        self._begun += 1
        self._free -= 1
        if self._begun == self._bandwidth:
            self._flush()

    def _flush(self) -> None:
        if self._begun:
            self._lines.append(self._begun)
            self._begun = 0

    def _drain(self) -> int:
        self._flush()
        lines = min(-(-self._drained // self._bandwidth), len(self._lines))
        words = [self._lines.popleft() for _ in range(lines)]
        drained = (lines - 1) * self._bandwidth + words[-1]
        self.written += drained
        self._free += drained
        return lines
