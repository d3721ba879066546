"""Rows of CSV (RFC 4180) with line numbers."""

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
    """Yield each row's cells and the line it ends on, empty rows too.

    Raises ConfigError with file `name` and line for invalid CSV and too long cells. `strict`
    refuses misplaced quotes.
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
    """Yield each row by the first row's names, with its line; skips empty rows."""
    rows = csv_rows(text, name, s_per_mb=s_per_mb)
    _, header = next(rows, (0, []))
    for line, row in rows:
        if row and len(row) != len(header):
            problem = f"expected {len(header)} values, as the header has, got {len(row)}"
            raise ConfigError(f"{name}, line {line}", problem)
        if row:
            yield line, dict(zip(header, row, strict=True))
