"""The drawing of a large whole trace, in arrays: a box for the nodes of one name and lane.

Trade-off: the second way to that picture, without a Python object a node and edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.draw.summary import (
    MOST_BOXES,
    Class,
    how_merged,
    merged,
    plain_name,
    ranked,
)
from yantra.tracing.inspect.surveyed import Surveyed

_AT_ONCE = 1 << 17  # nodes


class Members(NamedTuple):
    """A box's first node, how many it has, and their time in us."""

    first: int
    number: int
    micros: int


class Large(NamedTuple):
    """Boxes by first node, and links between them, (source, target, control), by first link."""

    members: list[Members]
    names: list[str]
    how: str
    edges: dict[tuple[int, int, bool], int]


def summary(columns: Columns) -> Large | None:
    """None if the trace may be drawn otherwise: whole, in chains, or with missing nodes."""
    if not isinstance(columns.seen, Surveyed) or _chains(columns) <= MOST_BOXES:
        return None
    classes = _Classes(columns)
    own = {key: number for number, key in enumerate(classes.keys)}
    order = ranked(own, lambda key: (-classes.micros[own[key]], -classes.sizes[own[key]]))
    links = classes.links()
    keys = classes.keys
    key_of = merged(order, [(keys[a], keys[b], control) for a, b, control in links])
    boxes: dict[Class, list[int]] = {}
    for number in sorted(own.values(), key=classes.first.__getitem__):
        boxes.setdefault(key_of[keys[number]], []).append(number)
    place = {key: at for at, key in enumerate(boxes)}
    box = [place[key_of[key]] for key in keys]
    edges: dict[tuple[int, int, bool], int] = {}
    for (a, b, control), count in links.items():
        if box[a] != box[b]:
            ends = box[a], box[b], control
            edges[ends] = edges.get(ends, 0) + count
    return Large(
        [classes.members(numbers) for numbers in boxes.values()],
        [key[2] for key in boxes],
        how_merged(len(boxes), len(own)),
        edges,
    )


def _chains(columns: Columns) -> int:
    begin, parents = np.asarray(columns.parent_begin), np.asarray(columns.parent)
    children = np.diff(np.asarray(columns.child_begin))
    lane, kind = np.asarray(columns.lane.places), np.asarray(columns.kind.places)
    alone = np.flatnonzero(np.diff(begin) == 1)
    parent = parents[begin[alone]]
    joined = (children[parent] == 1) & (lane[parent] == lane[alone]) & (kind[parent] == kind[alone])
    return columns.count - int(joined.sum())


class _Classes:
    """Nodes by lane, kind and plain name."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.keys: list[Class] = []
        self.first: list[int] = []
        self.sizes: list[int] = []
        self.micros: list[int] = []
        self._of = np.empty(columns.count, np.uint32)
        known: dict[int, int] = {}
        numbers: dict[Class, int] = {}
        for begin in range(0, columns.count, _AT_ONCE):
            here = slice(begin, begin + _AT_ONCE)
            found, first, which = np.unique(
                self._codes(here), return_index=True, return_inverse=True
            )
            for at, code in enumerate(found.tolist()):
                if code not in known:
                    known[code] = self._number(begin + int(first[at]), numbers)
            self._of[here] = np.array([known[code] for code in found.tolist()], np.uint32)[which]
            self._add(here)

    def members(self, numbers: list[int]) -> Members:
        return Members(
            min(self.first[number] for number in numbers),
            sum(self.sizes[number] for number in numbers),
            sum(self.micros[number] for number in numbers),
        )

    def links(self) -> dict[tuple[int, int, bool], int]:
        """Distinct links between classes, in the order of the first."""
        count = len(self.keys)
        found: dict[int, int] = {}
        for source, target, control in self._links():
            codes = (self._of[source].astype(np.int64) * count + self._of[target]) * 2 + control
            kinds, first, times = np.unique(codes, return_index=True, return_counts=True)
            for at in np.argsort(first).tolist():
                code = int(kinds[at])
                found[code] = found.get(code, 0) + int(times[at])
        return {
            (code // 2 // count, code // 2 % count, bool(code % 2)): times
            for code, times in found.items()
        }

    def _codes(self, here: slice) -> Any:
        columns = self._columns
        codes = np.asarray(columns.graph.name_at)[here].astype(np.int64)
        codes = codes * len(columns.lane.names) + np.asarray(columns.lane.places)[here]
        return codes * len(columns.kind.names) + np.asarray(columns.kind.places)[here]

    def _number(self, node: int, numbers: dict[Class, int]) -> int:
        columns = self._columns
        key = columns.lane[node], columns.kind[node], plain_name(columns.name(node))
        if key not in numbers:
            numbers[key] = len(numbers)
            self.keys.append(key)
            self.first.append(node)
            self.sizes.append(0)
            self.micros.append(0)
        first = self.first[numbers[key]]
        self.first[numbers[key]] = min(first, node)
        return numbers[key]

    def _add(self, here: slice) -> None:
        of = self._of[here]
        sizes = np.bincount(of, minlength=len(self.keys)).tolist()
        for number, micros in zip(of.tolist(), self._columns.duration[here], strict=True):
            self.micros[number] += micros
        self.sizes = [a + b for a, b in zip(self.sizes, sizes, strict=True)]

    def _links(self) -> Iterator[tuple[Any, Any, Any]]:
        columns = self._columns
        native = columns.native
        parents, data_end, dep_end = (
            np.asarray(getattr(native, name)) for name in ("dep", "data_end", "dep_end")
        )
        for first in range(0, columns.count, _AT_ONCE):
            nodes = np.arange(first, min(first + _AT_ONCE, columns.count))
            begin = dep_end[first - 1] if first else np.uint32(0)
            target = np.repeat(nodes, np.diff(dep_end[nodes], prepend=begin))
            source = parents[begin : begin + len(target)]
            control = np.arange(begin, begin + len(target)) >= data_end[target]
            codes = ((target - first) * columns.count + source) * 2 + control
            once = np.sort(np.unique(codes, return_index=True)[1])
            yield source[once], target[once], control[once]
