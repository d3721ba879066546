"""Dragonfly: fully connected groups of routers, and long cables between any two groups.

Three cables between routers at any scale, but little bandwidth between two groups.

Source: Kim, Dally, Scott and Abts, ISCA 2008, whose p, a, h and g the options are.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from yantra.base.fields import Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs import group_links
from yantra.fabric.graphs.builder import LINKS, Builder, Size, speed_keys, speed_of
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph


class Options(Record):
    p: int
    a: int
    h: int
    bytes_per_ns: float
    latency_ns: float
    g: int | None = None
    local_bytes_per_ns: float | None = None
    local_latency_ns: float | None = None
    global_bytes_per_ns: float | None = None
    global_latency_ns: float | None = None


class Dragonfly(Builder):
    """Rank r is on router r / p, which is in group r / (p a)."""

    options = Section(
        Options,
        {
            "p": ("p", Whole(at_least=1), "ranks on each router"),
            "a": ("a", Whole(at_least=1), "routers of a group"),
            "h": ("h", Whole(at_least=1), "ports of a router to other groups"),
            **LINKS,
            "g": ("g", Whole(at_least=2), "groups; by default a h + 1, the most there can be"),
            **speed_keys("local", "between routers of a group"),
            **speed_keys("global", "between groups"),
        },
    )
    example: ClassVar = {"p": 2, "a": 4, "h": 2, "bandwidth": "25 GB/s", "latency": "500 ns"}

    def refuses(self) -> tuple[str, str] | None:
        return group_links.refusal(self._groups, self._ports, "a h")

    def size(self) -> Size:
        p, a, groups = self.given.p, self.given.a, self._groups
        routers = groups * a
        local = groups * a * (a - 1) // 2
        cables = routers * p + local + groups * (groups - 1) // 2 * self._rounds
        return Size(routers * p, routers * p + routers, 2 * cables)

    def graph(self) -> Graph:
        p, a = self.given.p, self.given.a
        draft = Draft(self._groups * a * p)
        routers = draft.switches("router", self._groups * a).reshape(-1, a)
        draft.cables(draft.ranks, np.repeat(routers, p), self.speed, "rank up", "rank down")
        one, other = np.triu_indices(a, 1)
        local = speed_of(self.given, "local")
        draft.cables(routers[:, one], routers[:, other], local, "local")
        low, high = group_links.cables(routers, self.given.h)
        draft.cables(low, high, speed_of(self.given, "global"), "global")
        return draft.graph()

    def diameter(self) -> int | None:
        """Return 5: up, local, global, local, down,

        or None if small groups or several cables may allow less.
        """
        is_usual = self.given.a > self._rounds and self._groups > 2 * self.given.h + 1
        return 5 if is_usual else None

    @property
    def _groups(self) -> int:
        return group_links.groups_of(self.given.g, self._ports)

    @property
    def _ports(self) -> int:
        ports: int = self.given.a * self.given.h
        return ports

    @property
    def _rounds(self) -> int:
        return group_links.rounds(self._groups, self._ports)


PLUGIN = Dragonfly
