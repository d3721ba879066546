"""Result -> the trace-event JSON of chrome://tracing and Perfetto.

The core writes it (`native/export/chrome.cpp`). Prefer Perfetto's own form for large runs: this one
is five times as long and slower to open.
"""

from __future__ import annotations

from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.result import Result


class Chrome(Exporter):
    """The JSON of chrome://tracing."""

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """As `yantra.export.timeline.write`, with its options."""
        from yantra import _core
        from yantra.export import timeline

        return timeline.write(result, path, _core.ChromeWriter(), **options)


PLUGIN = Chrome
