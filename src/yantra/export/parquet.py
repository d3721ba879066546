"""Table -> Parquet; needs the extra `tables`."""

from __future__ import annotations

from yantra.base.output import Path, whole_file
from yantra.export.arrow_file import write_batches
from yantra.export.exporter import TableExporter
from yantra.result import Table
from yantra.result.frames import needed, schema_of


class Parquet(TableExporter):
    def write_table(self, table: Table, path: Path) -> None:
        pyarrow = needed("pyarrow", "parquet", "tables")
        from pyarrow import parquet  # type: ignore[import-untyped]

        with whole_file(path) as name:
            writer = parquet.ParquetWriter(name, schema_of(table, pyarrow))
            write_batches(table, writer, pyarrow)


PLUGIN = Parquet
