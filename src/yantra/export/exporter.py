"""`Exporter`: a form in which a result leaves Yantra; each is one file of `yantra.export`.

Trade-off: a form gets the result itself and may use anything of Yantra, so nothing has to be handed
over, and what a form needs of a result stays in its own file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from yantra.base.output import Path, whole_text
from yantra.result import Result, Table


class Exporter(ABC):
    """A form of results. Files appear whole or not at all; the result does not change."""

    @abstractmethod
    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """Write a result; return what the file leaves out, in words for the user.

        Raises ConfigError for a path that cannot be written and for options that make no sense,
        UnsupportedError for what only a recorded run has.
        """


class TextExporter(Exporter):
    """A form that is text, made piece by piece so that memory does not follow its length."""

    @abstractmethod
    def pieces(self, result: Result, **options: Any) -> Iterator[str]:
        """Yield the text of a result."""

    def text(self, result: Result, **options: Any) -> str:
        """Return the text of a result."""
        return "".join(self.pieces(result, **options))

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """Write the text of a result, packed with gzip where the path ends in `.gz`.

        It is UTF-8, its ends of lines are those of `pieces`.
        """
        with whole_text(path) as file:
            file.writelines(self.pieces(result, **options))
        return []


class TableExporter(Exporter):
    """A form of one table."""

    @abstractmethod
    def write_table(self, table: Table, path: Path) -> None:
        """Write a table. Raises UnsupportedError where a package is missing that it takes."""

    def write(self, result: Result, path: Path, table: str = "ranks", **options: Any) -> list[str]:
        """Write the table of this name."""
        self.write_table(result.table(table), path)
        return []
