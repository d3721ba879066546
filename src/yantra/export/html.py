"""Result -> a report: one HTML file with timeline, critical path, roofline and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.result import Result


class Html(Exporter):
    def write(
        self, result: Result, path: Path, warnings: Sequence[str] = (), **options: Any
    ) -> list[str]:
        from yantra.export.report import write_report

        write_report(result, path, warnings)
        return []


PLUGIN = Html
