"""Rows of CSV (RFC 4180), each with its line; what is no CSV is an error of the file."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

from yantra.base import bounds
from yantra.base.errors import ConfigError
from yantra.base.notes import note_time

if TYPE_CHECKING:
    from collections.abc import Iterator


def csv_rows(
    text: str,
    name: str,
    *,
    strict: bool = False,
    skip_spaces: bool = False,
    s_per_mb: float = 1.0,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row of a text with the line that it ends on, empty rows too.

    Raises ConfigError, with the line in the file `name`, for what is no CSV and for a cell that is
    longer than one may be. With `strict` a quote is an error where none may be. `s_per_mb` is what
    the reader takes for a megabyte, which is told where it is long.
    """
    note_time(text, name, "CSV", s_per_mb)
    most = bounds.of(len(text)).field
    csv.field_size_limit(most)
    rows = csv.reader(StringIO(text, newline=""), strict=strict, skipinitialspace=skip_spaces)
    while True:
        begin = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            problem = f"not CSV: {error}"
            if "field limit" in str(error):
                problem = f"a value has more than {most} characters; is this a CSV file?"
            raise ConfigError(f"{name}, line {begin}", problem) from None
        if row is None:
            return
        yield rows.line_num, row


def csv_mappings(
    text: str, name: str, s_per_mb: float = 1.0
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each row by the names in the first one, with its line; empty rows are passed over.

    Raises ConfigError as `csv_rows` does, and for a row of more or fewer values than names.
    """
    rows = csv_rows(text, name, s_per_mb=s_per_mb)
    _, header = next(rows, (0, []))
    for line, row in rows:
        if row and len(row) != len(header):
            problem = f"expected {len(header)} values, as the header has, got {len(row)}"
            raise ConfigError(f"{name}, line {line}", problem)
        if row:
            yield line, dict(zip(header, row, strict=True))
