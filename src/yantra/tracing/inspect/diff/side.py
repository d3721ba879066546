"""One of two compared traces: records' contents without ids and edges."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

from yantra.chakra.trace import Trace

FIELDS = ("name", "type", "start_micros", "duration_micros", "inputs", "outputs")
EDGES = ("data_deps", "ctrl_deps")
PARTS = ("metadata", "ids", "order", *FIELDS, *EDGES)


class Numbers:
    """Equal values get equal numbers, from 0."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        return self._known.setdefault(value, len(self._known))


class Side:
    """A trace by record, in file order; `ignore` names fields and attributes."""

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
        return {id: record for record, id in enumerate(self.ids)}

    @cached_property
    def bytes(self) -> list[memoryview]:
        data = self.trace.to_bytes()
        begins = Trace.from_bytes(data).native.byte_offset.tolist() if self.count else []
        view = memoryview(data)
        return [
            view[begin:end] for begin, end in zip(begins, [*begins[1:], len(data)], strict=True)
        ]

    def content(self, record: int) -> int:
        known = self._contents[record]
        if known is None:
            fields = tuple(repr(self.field(record, name)) for name in self.fields)
            known = self.numbers.of((fields, repr(self.attributes(record))))
            self._contents[record] = known
        return known

    @cached_property
    def fields(self) -> tuple[str, ...]:
        return tuple(name for name in FIELDS if name not in self.ignore)

    def field(self, record: int, name: str) -> Any:
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
        rows: list[Any] = self.native.attributes(record)
        if self.ignore:
            rows = [row for row in rows if row[0] not in self.ignore]
        return rows

    def edges(self, record: int, name: str) -> list[int]:
        if name in self.ignore:
            return []
        if name == "data_deps":
            return self.native.data_deps(record)
        return self.native.ctrl_deps(record)

    @cached_property
    def parents(self) -> list[list[int]]:
        place = self.place
        return [
            [place[id] for name in EDGES for id in self.edges(record, name) if id in place]
            for record in range(self.count)
        ]

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in range(self.count)]
        for record, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(record)
        return children
