"""A slow, plain world for oracles: a clock, messages that never meet, and hand-overs to memory.

Ticks are integers; events of one tick run in the order they were scheduled. The k-th receive of one
(source, destination, size) gets the k-th send of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

Action = Callable[[], None]
Key = tuple[int, int, int]


@dataclass
class World:
    """`delay` and `reduction` give ticks for bytes; `endpoint` is the ticks of one hand-over."""

    delay: Callable[[int], int] = lambda size: 100 + size
    endpoint: int = 10
    reduction: Callable[[int], int] = lambda size: 3 * size
    now: int = 0
    sent: list[Key] = field(default_factory=list)
    _events: list[tuple[int, int, Action]] = field(default_factory=list)
    _scheduled: int = 0
    _arrived: dict[Key, int] = field(default_factory=dict)
    _waiting: dict[Key, list[Action]] = field(default_factory=dict)

    def after(self, ticks: int, action: Action) -> None:
        self._scheduled += 1
        heapq.heappush(self._events, (self.now + ticks, self._scheduled, action))

    def run(self) -> None:
        while self._events:
            self.now, _, action = heapq.heappop(self._events)
            action()

    def hand_over(self, size: int, reduce: bool, done: Action) -> None:
        def handed() -> None:
            if reduce:
                self.after(self.reduction(size), done)
            else:
                done()

        self.after(self.endpoint, handed)

    def send(self, src: int, dst: int, size: int) -> None:
        key = (src, dst, size)
        self.sent.append(key)
        self.after(self.delay(size), lambda: self._arrive(key))

    def receive(self, src: int, dst: int, size: int, done: Action) -> None:
        key = (src, dst, size)
        if self._arrived.get(key, 0):
            self._arrived[key] -= 1
            self.after(0, done)
        else:
            self._waiting.setdefault(key, []).append(done)

    def _arrive(self, key: Key) -> None:
        waiting = self._waiting.get(key)
        if waiting:
            waiting.pop(0)()
        else:
            self._arrived[key] = self._arrived.get(key, 0) + 1
