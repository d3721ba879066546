"""A file of requests as blocks of rows: CSV, one JSON object a line, or one JSON document.

Trade-off: the whole text is in memory, its rows are not.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, show
from yantra.serving.requests.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_ROWS = 1 << 16  # of a block


class Source(ABC):
    def __init__(self, where: str, names: tuple[str, ...]) -> None:
        self.where = where
        self.names = names

    @abstractmethod
    def blocks(self) -> Iterator[tuple[int, Cells]]:
        """Yield how many rows each block has, and its cells. Raises ConfigError."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Return where a row is; it is looked for, as only an error asks."""

    @abstractmethod
    def row(self, number: int) -> Mapping[str, Any]:
        """Return a row."""

    def objects(self) -> list[dict[str, Any]]:
        return []


class JsonLines(Source):
    def __init__(self, where: str, text: str) -> None:
        self._text = text
        super().__init__(where, ())
        self.names = _keys(self._rows())

    def _rows(self) -> Iterator[dict[str, Any]]:
        for number, line in self._lines():
            place = f"{self.where}, line {number}"
            yield _object(_decoded_line(line, place), place)

    def _lines(self) -> Iterator[tuple[int, str]]:
        lines = enumerate(self._text.split("\n"), start=1)
        return ((number, line) for number, line in lines if line and not line.isspace())

    def blocks(self) -> Iterator[tuple[int, Cells]]:
        rows, begin = self._rows(), 0
        while block := list(islice(rows, _ROWS)):
            place = partial(self._place, begin)
            yield len(block), Cells(partial(_members, block), place)
            begin += len(block)

    def place(self, row: int) -> str:
        number, _ = next(islice(self._lines(), row, None))
        return f"{self.where}, line {number}"

    def _place(self, begin: int, row: int) -> str:
        return self.place(begin + row)

    def row(self, number: int) -> Mapping[str, Any]:
        return next(islice(self._rows(), number, None))

    def objects(self) -> list[dict[str, Any]]:
        return list(self._rows())


class JsonItems(JsonLines):
    """The items of a list."""

    def __init__(self, where: str, items: Iterable[Any]) -> None:
        self._items = list(items)
        super().__init__(where, "")

    def _rows(self) -> Iterator[dict[str, Any]]:
        return (_object(item, self.place(at)) for at, item in enumerate(self._items))

    def place(self, row: int) -> str:
        return f"{self.where}, item {row}"


def open_source(path: Path) -> Source:
    """ConfigError if the file cannot be read, is empty or no text."""
    where, text = os.fspath(path), read_text(path)
    stripped = text.strip()
    if not stripped:
        raise ConfigError(where, "empty; expected requests")
    if stripped[0] not in "[{":
        from yantra.serving.requests.csv_source import CsvTable

        return CsvTable(where, text)
    first, several, _ = stripped.partition("\n")
    if stripped[0] == "{" and several and first.rstrip().endswith("}"):
        return JsonLines(where, text)
    value = _decoded(stripped, where)
    return JsonItems(where, value if isinstance(value, list) else [value])


def _members(block: list[dict[str, Any]], name: str) -> list[Any]:
    return [row.get(name) for row in block]


def _keys(rows: Iterable[dict[str, Any]]) -> tuple[str, ...]:
    kinds = dict.fromkeys(tuple(row) for row in rows)
    return tuple(dict.fromkeys(name for kind in kinds for name in kind))


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(where, f"expected an object with a request, got {show(value)}")
    return value


def _decoded(text: str, where: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return parse_json(text, where)[0]  # which says where it is wrong


def _decoded_line(text: str, where: str) -> Any:
    try:
        return _decoded(text, where)
    except ConfigError as error:
        place = error.where.replace(f"{where}, line 1", where)
        raise ConfigError(place, error.problem) from None
