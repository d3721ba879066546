"""A table of CSV whose first row has the names of the columns."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError, show
from yantra.base.rows import csv_rows
from yantra.serving.requests.cells import Cells
from yantra.serving.requests.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ROWS = 1 << 16  # of a block
_CHARACTERS = 1 << 22  # the same of a plain table
_S_PER_MB = 0.1


class CsvTable(Source):
    """A row a request."""

    def __init__(self, where: str, text: str) -> None:
        self._text = text
        super().__init__(where, ())
        head = text.partition("\n")[0]
        line, header = 1, head.split(",")
        self._is_plain = bool(head) and '"' not in text and _is_regular(text, len(header))
        if not self._is_plain:
            line, header = next(self._rows_by_line())
        self.names = tuple(name.strip() for name in header)
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ConfigError(f"{where}, line {line}", f"two columns are named {show(twice)}")

    def _rows_by_line(self) -> Iterator[tuple[int, list[str]]]:
        rows = csv_rows(self._text, self.where, s_per_mb=_S_PER_MB)
        return ((line, row) for line, row in rows if row)

    def _rows(self) -> Iterator[list[str]]:
        width = len(self.names)
        for line, row in islice(self._rows_by_line(), 1, None):
            if len(row) != width:
                problem = f"expected {width} values, as the header has, got {len(row)}"
                raise ConfigError(f"{self.where}, line {line}", problem)
            yield row

    def blocks(self) -> Iterator[tuple[int, Cells]]:
        begin = 0
        for columns in self._plain_columns() if self._is_plain else self._columns():
            by_name = dict(zip(self.names, columns, strict=True))
            yield len(columns[0]), Cells(by_name.__getitem__, partial(self._place, begin))
            begin += len(columns[0])

    def _columns(self) -> Iterator[list[Sequence[str]]]:
        rows = self._rows()
        while block := list(islice(rows, _ROWS)):
            turned: Iterable[Sequence[str]] = zip(*block, strict=True)
            yield list(turned)

    def _plain_columns(self) -> Iterator[list[Sequence[str]]]:
        text, width = self._text.rstrip("\n"), len(self.names)
        at = text.find("\n") + 1 or len(text)
        while at < len(text):
            end = text.find("\n", at + _CHARACTERS)
            end = len(text) if end < 0 else end
            values = text[at:end].replace("\n", ",").split(",")
            yield [values[column::width] for column in range(width)]
            at = end + 1

    def place(self, row: int) -> str:
        return self._place(0, row)

    def _place(self, begin: int, row: int) -> str:
        line, _ = next(islice(self._rows_by_line(), 1 + begin + row, None))
        return f"{self.where}, line {line}"

    def row(self, number: int) -> Mapping[str, Any]:
        return dict(zip(self.names, next(islice(self._rows(), number, None)), strict=True))


def _is_regular(text: str, width: int) -> bool:
    if not text.isascii() or "\n\n" in text.rstrip("\n"):
        return False
    signs = np.frombuffer(text.rstrip("\n").encode() + b"\n", np.uint8)
    parting = signs[(signs == ord(",")) | (signs == ord("\n"))]
    if len(parting) % width:
        return False
    ends = parting.reshape(-1, width) == ord("\n")
    return bool(ends[:, -1].all() and not ends[:, :-1].any())
