"""A table written while it grows: CSV or Parquet.

If interrupted, complete rows are kept under `yantra.base.output.partial_name`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from yantra import _core
from yantra.base.output import Path, whole_bytes, whole_file
from yantra.base.printable import cell
from yantra.export.csv import rows_of
from yantra.export.texts import Texts
from yantra.result import Table
from yantra.result.frames import batches, needed, schema_of

Add = Callable[[Table], None]
"""Adds the rows of a table with the columns of the first one."""


@contextmanager
def growing_table(path: Path, first: Table) -> Iterator[Add]:
    """Yields what adds rows to a file; `first` only gives the columns."""
    if str(path).endswith(".parquet"):
        with _parquet(path, first) as add:
            yield add
        return
    writer = _core.TableWriter(json=False)
    texts = Texts(writer, cell)
    with whole_bytes(path, keeps_partial=True) as file:
        file.write((",".join(first.columns) + "\r\n").encode())

        def add_rows(table: Table) -> None:
            for parts in table.parts():
                file.write(rows_of(writer, texts, parts))
            file.flush()

        yield add_rows


@contextmanager
def _parquet(path: Path, first: Table) -> Iterator[Add]:
    pyarrow = needed("pyarrow", "parquet", "tables")
    from pyarrow import parquet  # type: ignore[import-untyped]

    with (
        whole_file(path, keeps_partial=True) as name,
        parquet.ParquetWriter(name, schema_of(first, pyarrow)) as writer,
    ):

        def add_rows(table: Table) -> None:
            for batch in batches(table, pyarrow):
                writer.write_batch(batch)

        yield add_rows
