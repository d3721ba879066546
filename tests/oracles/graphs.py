"""Shortest ways through a graph, one destination at a time: slow and plain."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

Link = tuple[int, int]


def distances_to(to: int, links: Iterable[Link]) -> dict[int, int]:
    backwards: dict[int, list[int]] = {}
    for source, target in links:
        backwards.setdefault(target, []).append(source)
    far = {to: 0}
    waiting = deque([to])
    while waiting:
        at = waiting.popleft()
        for source in backwards.get(at, ()):
            if source not in far:
                far[source] = far[at] + 1
                waiting.append(source)
    return far


def next_device(at: int, to: int, links: Iterable[Link]) -> int | None:
    """The lowest device that is one hop nearer to `to`."""
    far = distances_to(to, links)
    ahead = [target for source, target in links if source == at and target in far]
    return min((device for device in ahead if far[device] == far[at] - 1), default=None)
