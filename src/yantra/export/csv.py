"""Table -> CSV (RFC 4180), with a line of names; a missing value is an empty field.

Rows are written some ten thousand at a time, so memory does not follow the length of a table. A
path that ends in `.gz` gets them packed with gzip.
"""

from __future__ import annotations

from yantra import _core
from yantra.base.output import Path, whole_bytes
from yantra.export.exporter import TableExporter
from yantra.export.texts import Texts
from yantra.result import Table
from yantra.result.columns import as_cells


class Csv(TableExporter):
    """Comma-separated values."""

    def write_table(self, table: Table, path: Path) -> None:
        """Write a table as CSV."""
        writer = _core.TableWriter(json=False)
        texts = Texts(writer)
        with whole_bytes(path) as file:
            file.write((",".join(table.columns) + "\r\n").encode())
            for parts in table.parts():
                file.write(writer.rows([as_cells(part, texts) for part in parts]))


PLUGIN = Csv
