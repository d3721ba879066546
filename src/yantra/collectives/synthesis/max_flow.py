"""Largest flows between devices, exact: capacities are whole numbers of any size.

The largest flow equals the smallest cut. Whole numbers cost time against floats, and a cut is then
the least one and no other, however close they are.

Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
estimation", Soviet Mathematics Doklady 11 (1970).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable


class FlowNetwork:
    """Arcs with capacities in pairs: arc a and a ^ 1 are each other's way back."""

    def __init__(self, devices: int, arcs: Iterable[tuple[int, int, int]]) -> None:
        """Take arcs as (from, to, capacity)."""
        self._end: list[int] = []
        self._capacity: list[int] = []
        self._free: list[int] = []
        self._leaving: list[list[int]] = [[] for _ in range(devices)]
        for start, end, capacity in arcs:
            for one, other, room in ((start, end, capacity), (end, start, 0)):
                self._leaving[one].append(len(self._end))
                self._end.append(other)
                self._capacity.append(room)

    def least_cut(self, source: int, sink: int) -> tuple[int, frozenset[int]]:
        """Return the largest flow, and the devices on the source's side of a least cut."""
        self._free = self._capacity.copy()
        flow = 0
        while True:
            levels = self._levels(source)
            if levels[sink] < 0:
                return flow, frozenset(at for at, level in enumerate(levels) if level >= 0)
            begun = [0] * len(levels)
            while more := self._push(levels, begun, source, sink):
                flow += more

    def _levels(self, source: int) -> list[int]:
        """Return how far each device is from the source over arcs with room; -1 if cut off."""
        levels = [-1] * len(self._leaving)
        levels[source] = 0
        waiting = deque([source])
        while waiting:
            at = waiting.popleft()
            for arc in self._leaving[at]:
                end = self._end[arc]
                if levels[end] < 0 and self._free[arc]:
                    levels[end] = levels[at] + 1
                    waiting.append(end)
        return levels

    def _push(self, levels: list[int], begun: list[int], source: int, sink: int) -> int:
        """Send along one way that climbs the levels; return how much, 0 if none is left."""
        way: list[int] = []
        at = source
        while at != sink:
            if begun[at] == len(self._leaving[at]):
                if not way:
                    return 0
                at = self._end[way.pop() ^ 1]
                begun[at] += 1
                continue
            arc = self._leaving[at][begun[at]]
            end = self._end[arc]
            if self._free[arc] and levels[end] == levels[at] + 1:
                way.append(arc)
                at = end
            else:
                begun[at] += 1
        more = min(self._free[arc] for arc in way)
        for arc in way:
            self._free[arc] -= more
            self._free[arc ^ 1] += more
        return more
