"""Table -> Feather (version 2, the file form of Arrow); needs the extra `tables`."""

from __future__ import annotations

from yantra.base.output import Path, whole_file
from yantra.export.arrow_file import write_batches
from yantra.export.exporter import TableExporter
from yantra.result import Table
from yantra.result.frames import needed, schema_of


class Feather(TableExporter):
    def write_table(self, table: Table, path: Path) -> None:
        pyarrow = needed("pyarrow", "feather", "tables")
        schema = schema_of(table, pyarrow)
        options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
        with whole_file(path) as name:
            write_batches(table, pyarrow.ipc.new_file(name, schema, options=options), pyarrow)


PLUGIN = Feather
