"""Table -> CSV (RFC 4180), with a line of names.

Texts like a spreadsheet's formula get an apostrophe in front.
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra import _core
from yantra.base.output import Path, whole_bytes
from yantra.base.printable import cell
from yantra.export.exporter import TableExporter
from yantra.export.texts import Texts
from yantra.result import Table
from yantra.result.columns import Part, as_cells


class Csv(TableExporter):
    def write_table(self, table: Table, path: Path) -> None:
        writer = _core.TableWriter(json=False)
        texts = Texts(writer, cell)
        with whole_bytes(path) as file:
            file.write((",".join(table.columns) + "\r\n").encode())
            for parts in table.parts():
                file.write(rows_of(writer, texts, parts))


def rows_of(writer: _core.TableWriter, texts: Texts, parts: Sequence[Part]) -> bytes:
    return writer.rows([as_cells(_safe(part), texts) for part in parts])


def _safe(part: Part) -> Part:
    if not isinstance(part, list):
        return part
    return [cell(value) if isinstance(value, str) else value for value in part]


PLUGIN = Csv
