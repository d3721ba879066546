"""One of two traces that are compared: its records, as what they hold apart from ids and edges.

Contents are numbered by a table that both sides share, so that two records have the same number if
and only if they hold the same. Making a record's content costs some 20 us, so it is put off until
it is asked for; records whose bytes are equal are told without it.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

from yantra.chakra.trace import Trace

FIELDS = ("name", "type", "start_micros", "duration_micros", "inputs", "outputs")
EDGES = ("data_deps", "ctrl_deps")
PARTS = ("metadata", "ids", "order", *FIELDS, *EDGES)


class Numbers:
    """Gives equal values equal numbers, from 0."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        """Return the number of a value."""
        return self._known.setdefault(value, len(self._known))


class Side:
    """A trace by record, in file order; `ignore` names fields and attributes that do not count."""

    def __init__(self, trace: Trace, numbers: Numbers, ignore: frozenset[str]) -> None:
        self.trace = trace
        self.native = trace.native
        self.numbers = numbers
        self.ignore = ignore
        self.ids: list[int] = self.native.id.tolist()
        self.types: list[int] = self.native.type.tolist()
        self.count = len(self.ids)
        self._contents: list[int | None] = [None] * self.count

    @cached_property
    def place(self) -> dict[int, int]:
        """The record of each id; the last one where an id is given twice."""
        return {id: record for record, id in enumerate(self.ids)}

    @cached_property
    def bytes(self) -> list[memoryview]:
        """The bytes of each record as they are written."""
        data = self.trace.to_bytes()
        begins = Trace.from_bytes(data).native.byte_offset.tolist() if self.count else []
        view = memoryview(data)
        return [
            view[begin:end] for begin, end in zip(begins, [*begins[1:], len(data)], strict=True)
        ]

    def content(self, record: int) -> int:
        """Return the number of what a record holds apart from its id and edges."""
        known = self._contents[record]
        if known is None:
            fields = tuple(repr(self.field(record, name)) for name in self.fields)
            known = self.numbers.of((fields, repr(self.attributes(record))))
            self._contents[record] = known
        return known

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The fields that count."""
        return tuple(name for name in FIELDS if name not in self.ignore)

    def field(self, record: int, name: str) -> Any:
        """Return a field other than id and edges."""
        native = self.native
        if name == "name":
            return native.name(record)
        if name == "type":
            return self.types[record]
        if name == "start_micros":
            return native.start_micros[record]
        if name == "duration_micros":
            return native.duration_micros[record]
        return native.inputs(record) if name == "inputs" else native.outputs(record)

    def attributes(self, record: int) -> list[Any]:
        """Return the rows (name, kind, value, doc) of the attributes that count."""
        rows: list[Any] = self.native.attributes(record)
        if self.ignore:
            rows = [row for row in rows if row[0] not in self.ignore]
        return rows

    def edges(self, record: int, name: str) -> list[int]:
        """Return the ids a record depends on, empty where these edges do not count."""
        if name in self.ignore:
            return []
        if name == "data_deps":
            return self.native.data_deps(record)
        return self.native.ctrl_deps(record)

    @cached_property
    def parents(self) -> list[list[int]]:
        """The records each record depends on, over both kinds of edges."""
        place = self.place
        return [
            [place[id] for name in EDGES for id in self.edges(record, name) if id in place]
            for record in range(self.count)
        ]

    @cached_property
    def children(self) -> list[list[int]]:
        """The records that depend on each record."""
        children: list[list[int]] = [[] for _ in range(self.count)]
        for record, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(record)
        return children
