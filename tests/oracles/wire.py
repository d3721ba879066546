"""A slow, plain world for oracles: a clock, messages without contention, hand-overs to memory."""

from __future__ import annotations

import heapq
from collections import Counter
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
    _sends: Counter[Key] = field(default_factory=Counter)
    _receives: Counter[Key] = field(default_factory=Counter)
    _arrived: set[tuple[Key, int]] = field(default_factory=set)
    _waiting: dict[tuple[Key, int], Action] = field(default_factory=dict)

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

    def send(self, src: int, dst: int, size: int) -> int:
        key = (src, dst, size)
        turn = self._sends[key]
        self._sends[key] += 1
        self.sent.append(key)
        self.after(self.delay(size), lambda: self._arrive((key, turn)))
        return turn

    def receive(self, src: int, dst: int, size: int, done: Action) -> int:
        key = (src, dst, size)
        turn = self._receives[key]
        self._receives[key] += 1
        if (key, turn) in self._arrived:
            self.after(0, done)
        else:
            self._waiting[key, turn] = done
        return turn

    def _arrive(self, message: tuple[Key, int]) -> None:
        if message in self._waiting:
            self._waiting.pop(message)()
        else:
            self._arrived.add(message)
