"""Reads the tables of a profiler's SQLite file: read-only, by columns that may be missing.

Trade-off: every query scans its table once, in the file's order; no index is made or relied on.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from yantra.base.errors import TraceError
from yantra.base.regular import open_regular
from yantra.chakra.files import GZIP

_LARGEST = 1 << 62


class Tables:
    """A database. Raises TraceError where it cannot be read; close it, or use `with`."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        self.what = what
        self.bad = 0  # rows with a time or number that cannot be
        try:
            with open_regular(path) as file:
                packed = file.read(2) == GZIP
        except OSError as error:
            raise TraceError(f"{path}: cannot be read: {error.strerror or error}") from None
        if packed:
            raise TraceError(f"{path}: is packed with gzip; expected {what} as such: gunzip it")
        # Immutable: a journal beside it is neither made nor looked for.
        where = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
        self._base = sqlite3.connect(where, uri=True)
        self._base.text_factory = lambda data: data.decode(errors="replace")
        self.columns: dict[str, list[str]] = {}
        for (name,) in self._ask("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"):
            self.columns[str(name)] = []

    def __enter__(self) -> Tables:
        return self

    def __exit__(self, *error: object) -> None:
        self._base.close()

    def has(self, table: str, *columns: str) -> bool:
        return table in self.columns and {*columns} <= {*self.of(table)}

    def of(self, table: str) -> list[str]:
        """The columns of a table, none if it is missing."""
        known = self.columns.get(table, [])
        if not known and table in self.columns:
            rows = self._ask(f'PRAGMA table_info("{table}")')
            known = self.columns[table] = [str(row[1]) for row in rows]
        return known

    def count(self, table: str) -> int:
        if table not in self.columns:
            return 0
        return int(next(self._ask(f'SELECT count(*) FROM "{table}"'))[0])

    def rows(
        self, table: str, columns: Sequence[str], where: str = "", given: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of `columns`, None for each that the table lacks; none if it is missing."""
        if table not in self.columns:
            return
        known = {*self.of(table)}
        chosen = ", ".join(f'"{name}"' if name in known else "NULL" for name in columns)
        yield from self._ask(f'SELECT {chosen} FROM "{table}" {where}', given)

    def timed(
        self, table: str, columns: Sequence[str], where: str = "", given: Sequence[Any] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Rows that begin with a start and an end that can be; `bad` counts the others."""
        for row in self.rows(table, columns, where, given):
            start, end = row[:2]
            if type(start) is int and type(end) is int and -_LARGEST < start <= end < _LARGEST:
                yield row
            else:
                self.bad += 1

    def _ask(self, question: str, given: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        try:
            yield from self._base.execute(question, given)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            raise TraceError(
                f"{self.path}: {error}; expected {self.what}; the file is damaged or cut: copy or "
                "export it again"
            ) from None


def whole(value: Any, other: int = 0) -> int:
    """A number of a column, `other` for anything else."""
    return value if type(value) is int else other
