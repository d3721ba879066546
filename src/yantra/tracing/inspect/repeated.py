"""A column of values of which few differ: each once, and 4 bytes a row."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Repeated(Generic[Value]):
    def __init__(self, values: Iterable[Value]) -> None:
        known: dict[Value, int] = {}
        self.places = array("I", (known.setdefault(one, len(known)) for one in values))
        self.values = list(known)

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, at: int) -> Value:
        return self.values[self.places[at]]

    def __iter__(self) -> Iterator[Value]:
        return map(self.values.__getitem__, self.places)
