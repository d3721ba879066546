"""What Arrow's forms share: tables are written part by part."""

from __future__ import annotations

from typing import Any

from yantra.result import Table
from yantra.result.frames import batches


def write_batches(table: Table, writer: Any, pyarrow: Any) -> None:
    with writer:
        for batch in batches(table, pyarrow):
            writer.write_batch(batch)
