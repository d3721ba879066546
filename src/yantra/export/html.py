"""Result -> a report: one HTML file with timeline, critical path, roofline and more."""

from __future__ import annotations

from collections.abc import Sequence

from yantra.base.output import Path
from yantra.result import Result


def write(result: Result, path: Path, warnings: Sequence[str] = ()) -> None:
    """Write the report of a result; `warnings` are those of reading the input."""
    from yantra.export.report import write_report

    write_report(result, path, warnings)


PLUGIN = write
