"""`Exporter`: a form in which a result leaves Yantra; each is one file of `yantra.export`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from yantra.base.output import Path, whole_text
from yantra.result import Result, Table


class Exporter(ABC):
    """A form of results. Files appear whole or not at all."""

    @abstractmethod
    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """Write a result; return what the file leaves out, for the user.

        Raises ConfigError for an unwritable path and senseless options, UnsupportedError for what
        only a recorded run has.
        """


class TextExporter(Exporter):
    """A text form, made in pieces to bound memory."""

    @abstractmethod
    def pieces(self, result: Result, **options: Any) -> Iterator[str]:
        """The text of a result, in pieces."""

    def text(self, result: Result, **options: Any) -> str:
        return "".join(self.pieces(result, **options))

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """Write UTF-8, packed with gzip where the path ends in `.gz`; line ends as in `pieces`."""
        with whole_text(path) as file:
            file.writelines(self.pieces(result, **options))
        return []


class TableExporter(Exporter):
    @abstractmethod
    def write_table(self, table: Table, path: Path) -> None:
        """Write a table. Raises UnsupportedError where a package is missing."""

    def write(self, result: Result, path: Path, table: str = "ranks", **options: Any) -> list[str]:
        self.write_table(result.table(table), path)
        return []
