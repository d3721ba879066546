"""Table -> CSV, Parquet, Feather. Every file appears whole or not at all.

Rows are written some ten thousand at a time, so memory does not follow the length of a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra import _core
from yantra.base.output import Path, whole_file
from yantra.result.frames import batches, needed, schema_of
from yantra.result.parts import as_cells
from yantra.result.table import Table


class Texts:
    """Hands the texts of columns to a writer of the core, each once; lists of texts may grow."""

    def __init__(self, writer: _core.TableWriter) -> None:
        self._writer = writer
        self._known: dict[int, tuple[Sequence[str], int, int]] = {}

    def __call__(self, texts: Sequence[str]) -> int:
        """Return the number under which the writer knows a list of texts."""
        if id(texts) not in self._known:
            self._known[id(texts)] = texts, self._writer.new_texts(), 0
        _, number, count = self._known[id(texts)]
        if count < len(texts):
            self._writer.add_texts(number, texts[count:])
            self._known[id(texts)] = texts, number, len(texts)
        return number


def write_csv(table: Table, path: Path) -> None:
    """Write a table as CSV (RFC 4180) with a line of names; a missing value is an empty field."""
    writer = _core.TableWriter(json=False)
    texts = Texts(writer)
    with whole_file(path) as name, open(name, "wb") as file:
        file.write((",".join(table.columns) + "\r\n").encode())
        for parts in table.parts():
            file.write(writer.rows([as_cells(part, texts) for part in parts]))


def write_parquet(table: Table, path: Path) -> None:
    """Write a table as Parquet; needs the extra `tables`."""
    pyarrow = needed("pyarrow", "parquet", "tables")
    from pyarrow import parquet  # type: ignore[import-untyped]

    with whole_file(path) as name:
        _write(table, parquet.ParquetWriter(name, schema_of(table, pyarrow)), pyarrow)


def write_feather(table: Table, path: Path) -> None:
    """Write a table as Feather (version 2, the file form of Arrow); needs the extra `tables`."""
    pyarrow = needed("pyarrow", "feather", "tables")
    schema = schema_of(table, pyarrow)
    options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
    with whole_file(path) as name:
        _write(table, pyarrow.ipc.new_file(name, schema, options=options), pyarrow)


def _write(table: Table, writer: Any, pyarrow: Any) -> None:
    with writer:
        for batch in batches(table, pyarrow):
            writer.write_batch(batch)
