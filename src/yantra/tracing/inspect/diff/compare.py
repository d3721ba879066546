"""Differences between paired records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.chakra.schema import Kind, NodeType
from yantra.tracing.inspect.diff.side import EDGES, Side


class Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


class Change(NamedTuple):
    """A field's value before and after; `ABSENT` for a missing attribute.

    For edges: ids only one record depends on, or whole lists if `field` ends in `order`.
    """

    field: str
    before: Any
    after: Any


class NodeChange(NamedTuple):
    """Two paired records that differ, by position."""

    record: int
    other: int
    changes: tuple[Change, ...]


class Comparison:
    """Compares paired records; edges by what they point at."""

    def __init__(self, a: Side, b: Side, match: Sequence[int | None]) -> None:
        self.a = a
        self.b = b
        self._other_id = {
            id: b.ids[other]
            for record, (id, other) in enumerate(zip(a.ids, match, strict=True))
            if other is not None and a.place[id] == record
        }
        self.keeps_ids = all(id == other for id, other in self._other_id.items())

    def changes(self, record: int, other: int) -> tuple[Change, ...]:
        found: list[Change] = []
        if self.a.content(record) != self.b.content(other):
            for name in self.a.fields:
                before, after = self.a.field(record, name), self.b.field(other, name)
                if before != after:
                    found.append(Change(name, _shown(name, before), _shown(name, after)))
            found += attribute_changes(self.a.attributes(record), self.b.attributes(other))
        for name in EDGES:
            change = self._edges(name, self.a.edges(record, name), self.b.edges(other, name))
            if change:
                found.append(change)
        return tuple(found)

    def _edges(self, name: str, before: list[int], after: list[int]) -> Change | None:
        mapped = [self._target(id) for id in before]
        wanted = [("node" if id in self.b.place else "missing", id) for id in after]
        if mapped == wanted:
            return None
        gone = Counter(mapped)
        gone.subtract(wanted)
        removed = _pick(mapped, before, +gone)
        added = _pick(wanted, after, +Counter({key: -count for key, count in gone.items()}))
        if not removed and not added:
            return Change(f"{name} order", before, after)
        return Change(name, removed, added)

    def _target(self, id: int) -> tuple[str, int]:
        if id not in self.a.place:
            return "missing", id
        if id in self._other_id:
            return "node", self._other_id[id]
        return "removed", id


def attribute_changes(before: list[Any], after: list[Any]) -> list[Change]:
    """Differences of attributes; the k-th of a name is compared with the k-th."""
    mine, theirs = _by_name(before), _by_name(after)
    found = []
    for name in [*mine, *(name for name in theirs if name not in mine)]:
        old, new = mine.get(name), theirs.get(name)
        if repr(old) != repr(new):
            said = _differing(old, new)
            found.append(Change(f"attribute {name[0]}", *said))
    if not found and list(mine) != list(theirs):
        names = [[name for name, _ in rows] for rows in (mine, theirs)]
        found.append(Change("attribute order", *names))
    return found


def type_name(number: int) -> str:
    return NodeType(number).name if number in set(NodeType) else f"type {number}"


def _shown(field: str, value: Any) -> Any:
    return type_name(value) if field == "type" else value


def _by_name(rows: list[Any]) -> dict[tuple[str, int], tuple[Any, ...]]:
    seen: Counter[str] = Counter()
    found = {}
    for name, *rest in rows:
        found[name, seen[name]] = tuple(rest)
        seen[name] += 1
    return found


def _differing(old: tuple[Any, ...] | None, new: tuple[Any, ...] | None) -> tuple[Any, Any]:
    if old is None or new is None:
        return (ABSENT if old is None else old[1]), (ABSENT if new is None else new[1])
    if repr(old[1]) != repr(new[1]):
        return old[1], new[1]
    at = 0 if old[0] != new[0] else 2
    return tuple(
        f"{row[1]!r} ({Kind(row[0]).name.lower() if at == 0 else 'doc ' + repr(row[2])})"
        for row in (old, new)
    )  # type: ignore[return-value]


def _pick(keys: Sequence[Any], ids: Sequence[int], wanted: Counter[Any]) -> list[int]:
    left = Counter(wanted)
    picked = []
    for key, id in zip(keys, ids, strict=True):
        if left[key] > 0:
            left[key] -= 1
            picked.append(id)
    return picked
