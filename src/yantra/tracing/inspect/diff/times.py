"""How much time each operator of one recording costs more or less than in another.

Every moment of a recording counts for one piece of work: kernels before communication, copies, host
work and time that nothing explains, the earliest begun first; what is left is idle. A piece counts
for its operator, so that rows add up to the difference of the two windows, to the ns.

Operators are paired down the tree: the k-th of a name under paired callers, then those left that
share a word (`cudnn_convolution` and `miopen_convolution`). Kernels without an operator are paired
by their own names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns

_ORDER = {"gpu_compute": 0, "communication": 1, "memory": 2, "cpu": 3}
_ON_DEVICE, _ON_HOST = 4, 5
_NUMBER = re.compile(r"#\d+$")
_ROOT = "[pytorch|"
_WORD = re.compile(r"[a-z]{3,}")
_COMMON = frozenset({"aten", "autograd", "engine", "evaluate", "function", "torch", "backward"})
_PARTS = ("slice", "wait")
UNEXPLAINED = {_ON_DEVICE: "unexplained, device side", _ON_HOST: "unexplained, host side"}
IDLE = "idle"
DEVICE, HOST = "device", "host"


class Row(NamedTuple):
    """Paired operators of one path; ns by side, of which `device_ns` on the device."""

    path: tuple[str, ...]
    calls: int
    ns: tuple[int, int]
    device_ns: tuple[int, int]

    @property
    def difference_ns(self) -> int:
        """How much more it is in the second."""
        return self.ns[1] - self.ns[0]


class Alone(NamedTuple):
    """Operators of one path that only one side has."""

    path: tuple[str, ...]
    calls: int
    ns: int


class Times(NamedTuple):
    """The difference of two recordings: rows, what each has alone, and `other` time add up."""

    window_ns: tuple[int, int]
    rows: list[Row]
    alone: tuple[list[Alone], list[Alone]]
    other: dict[str, tuple[int, int]]

    @property
    def equal(self) -> bool:
        """Whether all operators are paired and take the same time."""
        pairs = [row.ns for row in self.rows] + [*self.other.values()]
        return not any(self.alone) and all(a == b for a, b in pairs)

    @property
    def difference_ns(self) -> int:
        """How much longer the second takes."""
        return self.window_ns[1] - self.window_ns[0]


def times(a: Trace, b: Trace, names: tuple[str, str]) -> Times:
    """Price the difference of two recorded traces. Raises ConfigError for one without times."""
    sides = _Side(Columns(a), names[0]), _Side(Columns(b), names[1])
    pairs = _paired(*sides)
    rows: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for pair in pairs:
        rows[_path(sides, *pair)].append(pair)
    found = [_row(sides, path, some) for path, some in rows.items()]
    taken = [{pair[at] for pair in pairs} for at in (0, 1)]
    alone = [list(_alone(side, here)) for side, here in zip(sides, taken, strict=True)]
    other = {
        name: (sides[0].other.get(name, 0), sides[1].other.get(name, 0))
        for name in (*UNEXPLAINED.values(), IDLE)
    }
    return Times(
        (sides[0].window_ns, sides[1].window_ns),
        sorted(found, key=lambda row: -abs(row.difference_ns)),
        (alone[0], alone[1]),
        other,
    )


class _Side:
    """The operators of a recording: names, callers, and time that counts for each."""

    def __init__(self, columns: Columns, name: str) -> None:
        timed = [node for node, extra in enumerate(columns.extra) if extra.start_ns is not None]
        if not timed:
            raise ConfigError(name, "expected recorded times (start_time_ns), got none")
        self.columns = columns
        self.children: dict[int, list[int]] = defaultdict(list)
        self.operator = [self._operator(node) for node in range(columns.count)]
        for node in range(columns.count):
            if self.operator[node] == node and columns.kind[node] != "delay":
                self.children[self._caller(node)].append(node)
        for some in self.children.values():
            some.sort(key=lambda node: (columns.extra[node].start_ns or 0, node))
        self.ns = np.zeros((columns.count + 1, 2), dtype=np.int64)
        self.other: dict[str, int] = defaultdict(int)
        self._count(timed)

    def name(self, node: int) -> str:
        """A name without the number of a step."""
        return _NUMBER.sub("", self.columns.name(node))

    def path(self, node: int) -> tuple[str, ...]:
        """Names from the outermost operator."""
        found: list[str] = []
        seen: set[int] = set()
        while node >= 0 and node not in seen:
            seen.add(node)
            if not self.name(node).startswith(_ROOT):
                found.append(self.name(node))
            node = self._caller(node)
        return tuple(reversed(found))

    def _controls(self, node: int) -> int:
        ids = self.columns.trace.native.ctrl_deps(self.columns.record[node])
        return self._place.get(ids[0], -1) if ids else -1

    @property
    def _place(self) -> dict[int, int]:
        known: dict[int, int] | None = self.__dict__.get("_places")
        if known is None:
            known = {id: node for node, id in enumerate(self.columns.id)}
            self.__dict__["_places"] = known
        return known

    def _operator(self, node: int) -> int:
        """The operator that a node is a part of, or that launched it; -1 for none."""
        above = self._controls(node)
        if above >= 0 and not self.columns.is_cpu[node]:
            return above
        is_part = self.columns.extra[node].part in _PARTS
        return above if is_part else node

    def _caller(self, node: int) -> int:
        above = self._controls(node)
        return -1 if above == node else above

    def _count(self, timed: Sequence[int]) -> None:
        columns = self.columns
        rows = []
        for node in timed:
            extra = columns.extra[node]
            kind = _ORDER.get(columns.kind[node], -1)
            if columns.kind[node] == "delay":
                kind = _ON_HOST if columns.is_cpu[node] else _ON_DEVICE
            if kind >= 0:
                start = extra.start_ns or 0
                rows.append((kind, start, start + (extra.duration_ns or 0), node))
        table = np.array(sorted(rows), dtype=np.int64).reshape(len(rows), 4)
        begin, end = int(table[:, 1].min()), int(table[:, 2].max())
        self.window_ns = end - begin
        shares = _shares(table)
        for (kind, _, _, node), ns in zip(table.tolist(), shares.tolist(), strict=True):
            if kind in UNEXPLAINED:
                self.other[UNEXPLAINED[kind]] += ns
            else:
                self.ns[self.operator[node], int(kind == _ORDER["cpu"])] += ns
        self.other[IDLE] = self.window_ns - int(shares.sum())


def _shares(table: Any) -> Any:
    """The ns of each row (kind, start, end, ...), in this order, that no earlier row covers."""
    shares = np.zeros(len(table), dtype=np.int64)
    covered = np.empty((0, 2), dtype=np.int64)
    for kind in np.unique(table[:, 0]).tolist():
        here = np.flatnonzero(table[:, 0] == kind)
        start, end = table[here, 1], table[here, 2]
        reach = np.maximum.accumulate(np.concatenate([[start[0]], end[:-1]]))
        first = np.maximum(start, reach)
        last = np.maximum(first, end)
        shares[here] = last - first - (_within(covered, last) - _within(covered, first))
        covered = _union(np.concatenate([covered, np.stack([start, end], axis=1)]))
    return shares


def _within(spans: Any, times: Any) -> Any:
    """How much of disjoint spans lies before each time."""
    if not len(spans):
        return np.zeros(len(times), dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(spans[:, 1] - spans[:, 0])])
    at = np.searchsorted(spans[:, 0], times, side="right")
    over = np.maximum(spans[np.maximum(at - 1, 0), 1] - times, 0)
    return sums[at] - np.where(at > 0, over, 0)


def _union(spans: Any) -> Any:
    from yantra.tracing.why.accounts import union

    return union(spans)


def _paired(a: _Side, b: _Side) -> list[tuple[int, int]]:
    """Operators of both, and (-1, -1) for what has none."""
    found = [(-1, -1)]
    for one, other in found:  # grows
        found += _children(a, b, a.children.get(one, []), b.children.get(other, []))
    return found


def _children(a: _Side, b: _Side, mine: list[int], theirs: list[int]) -> Iterator[tuple[int, int]]:
    free: dict[str, list[int]] = defaultdict(list)
    for node in reversed(theirs):
        free[b.name(node)].append(node)
    left = []
    for node in mine:
        if free.get(a.name(node)):
            yield node, free[a.name(node)].pop()
        else:
            left.append(node)
    kept = {node for some in free.values() for node in some}
    yield from _by_words(a, b, left, [node for node in theirs if node in kept])


def _by_words(a: _Side, b: _Side, mine: list[int], theirs: list[int]) -> Iterator[tuple[int, int]]:
    """Each in turn with the first of the others that shares a word and is free."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for place in range(len(theirs) - 1, -1, -1):
        for word in _words(b.name(theirs[place])):
            waiting[word].append(place)
    taken: set[int] = set()
    for node in mine:
        first = len(theirs)
        for word in _words(a.name(node)):
            some = waiting.get(word, [])
            while some and some[-1] in taken:
                some.pop()
            first = min(first, some[-1] if some else first)
        if first < len(theirs):
            taken.add(first)
            yield node, theirs[first]


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.lower())) - _COMMON


def _path(sides: tuple[_Side, _Side], one: int, other: int) -> tuple[str, ...]:
    both = sides[0].path(one), sides[1].path(other)
    return tuple(
        name if name == named else f"{name} / {named}" for name, named in zip(*both, strict=False)
    )


def _row(sides: tuple[_Side, _Side], path: tuple[str, ...], some: list[tuple[int, int]]) -> Row:
    sums = [side.ns[[pair[at] for pair in some]].sum(axis=0) for at, side in enumerate(sides)]
    whole = int(sums[0].sum()), int(sums[1].sum())
    return Row(path, len(some), whole, (int(sums[0][0]), int(sums[1][0])))


def _alone(side: _Side, taken: set[int]) -> Iterator[Alone]:
    calls: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for some in side.children.values():
        for node in some:
            if node not in taken:
                calls[side.path(node)].append(node)
    found = [Alone(path, len(some), int(side.ns[some].sum())) for path, some in calls.items()]
    yield from sorted(found, key=lambda one: -one.ns)
