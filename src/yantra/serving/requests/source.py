"""A file of requests as blocks of rows: CSV, one JSON object a line, or one JSON document.

Gzip is unpacked, whatever the name. Trade-off: the whole text is in memory, its rows are not.
"""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, show
from yantra.base.rows import csv_rows
from yantra.serving.requests.cells import Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_ROWS = 1 << 16  # of a block
_CHARACTERS = 1 << 22  # the same of a plain table
_S_PER_MB = 0.05


class Source:
    """A file that was read; `names` are those of its columns, or the keys of its first object.

    `document` is the JSON value where the file is one and no table. Raises ConfigError for what
    cannot be read, is empty, or is neither CSV nor JSON.
    """

    def __init__(self, path: Path) -> None:
        self.where = os.fspath(path)
        """The file, for errors."""
        self._text = read_text(path)
        self.document: Any = None
        head = self._text.lstrip()[:1]
        if not head:
            raise ConfigError(self.where, "empty; expected requests")
        self._is_json = head in "[{"
        if self._is_json:
            self._begin_json(head)
        else:
            self._begin_csv()

    def _begin_csv(self) -> None:
        line, header = next(self._csv(), (1, []))
        self.names = tuple(name.strip() for name in header)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ConfigError(f"{self.where}, line {line}", f"two columns are named {show(twice)}")

    def _begin_json(self, head: str) -> None:
        first = self._text.strip().partition("\n")[0].strip()
        several = "\n" in self._text.strip()
        if head == "{" and several and first.endswith("}"):
            value = _decoded(first, f"{self.where}, line 1")
        else:
            value = parse_json(self._text, self.where)[0]
            self.document = value
            if isinstance(value, list):
                value = value[0] if value else {}
        self.names = tuple(_object(value, self.where))

    def blocks(self) -> Iterator[tuple[int, Cells]]:
        """Yield how many rows each block has, and its cells."""
        begin = 0
        if not self._is_json and self._is_plain():
            for columns in self._plain_blocks():
                size = len(columns[self.names[0]])
                yield size, Cells(columns.__getitem__, partial(self._place, begin))
                begin += size
            return
        rows: Iterator[Any] = self._json_lines() if self._is_json else self._csv_rows()
        while block := list(islice(rows, _ROWS)):
            column: Callable[[str], Sequence[Any]] = partial(_members, block)
            if not self._is_json:
                turned: Iterable[Sequence[str]] = zip(*block, strict=True)
                columns = dict(zip(self.names, turned, strict=True))
                column = columns.__getitem__
            yield len(block), Cells(column, partial(self._place, begin))
            begin += len(block)

    def _is_plain(self) -> bool:
        """Return whether commas and ends of lines alone part the values, none of which is quoted.

        Such a table is split a hundred thousand rows at once, twice as fast as by `csv`.
        """
        if '"' in self._text or not self._text.isascii():
            return False
        signs = np.frombuffer(self._text.rstrip("\n").encode() + b"\n", np.uint8)
        parting = signs[(signs == ord(",")) | (signs == ord("\n"))]
        width = len(self.names)
        if len(parting) % width:
            return False
        ends = parting.reshape(-1, width) == ord("\n")
        return bool(ends[:, -1].all() and not ends[:, :-1].any()) and "\n\n" not in self._text

    def _plain_blocks(self) -> Iterator[dict[str, list[str]]]:
        text, width = self._text.rstrip("\n"), len(self.names)
        at = text.find("\n") + 1 or len(text)
        while at < len(text):
            end = text.find("\n", at + _CHARACTERS)
            end = len(text) if end < 0 else end
            values = text[at:end].replace("\n", ",").split(",")
            yield {name: values[column::width] for column, name in enumerate(self.names)}
            at = end + 1

    def _csv(self) -> Iterator[tuple[int, list[str]]]:
        rows = csv_rows(self._text, self.where, s_per_mb=_S_PER_MB)
        return ((line, row) for line, row in rows if row)

    def _csv_rows(self) -> Iterator[list[str]]:
        rows = self._csv()
        next(rows)
        width = len(self.names)
        for line, row in rows:
            if len(row) != width:
                problem = f"expected {width} values, as the header has, got {len(row)}"
                raise ConfigError(f"{self.where}, line {line}", problem)
            yield row

    def _json_lines(self) -> Iterator[dict[str, Any]]:
        import msgspec

        decode = msgspec.json.Decoder().decode
        if self.document is not None:
            several = self.document if isinstance(self.document, list) else [self.document]
            for number, value in enumerate(several):
                yield _object(value, f"{self.where}, item {number}")
            return
        for number, line in enumerate(self._text.split("\n"), start=1):
            if line and not line.isspace():
                try:
                    value = decode(line)
                except (ValueError, RecursionError):
                    value = _decoded(line, f"{self.where}, line {number}")
                yield _object(value, f"{self.where}, line {number}")

    def _place(self, begin: int, row: int) -> str:
        """Return where a row is; its line is looked for again, as only an error asks for it."""
        if self.document is not None:
            return f"{self.where}, item {begin + row}"
        if self._is_json:
            lines = self._text.split("\n")
            numbers = (number for number, line in enumerate(lines, start=1) if line.strip())
        else:
            numbers = (line for line, _ in islice(self._csv(), 1, None))
        line = next(islice(numbers, begin + row, None))
        return f"{self.where}, line {line}"

    def objects(self) -> list[dict[str, Any]]:
        """Return all objects of a JSON file. Raises ConfigError."""
        return list(self._json_lines()) if self._is_json else []

    def place(self, row: int) -> str:
        """Return where a row of the table is."""
        return self._place(0, row)

    def row(self, number: int) -> Mapping[str, Any]:
        """Return a row of the table."""
        if self._is_json:
            return next(islice(self._json_lines(), number, None))
        return dict(zip(self.names, next(islice(self._csv_rows(), number, None)), strict=True))


def _members(block: Sequence[Any], name: str) -> list[Any]:
    return [row.get(name) for row in block]


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(where, f"expected an object with a request, got {show(value)}")
    return value


def _decoded(line: str, where: str) -> Any:
    """Return the value of a line, with the error of this house where it is none."""
    return parse_json(line, where)[0]
