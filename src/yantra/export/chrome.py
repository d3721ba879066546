"""Result -> the trace-event JSON of chrome://tracing and Perfetto; five times as long as Perfetto's
own form and slower to open.
"""

from __future__ import annotations

from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.result import Result


class Chrome(Exporter):
    """The JSON of chrome://tracing."""

    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """As `yantra.export.timeline.write`."""
        from yantra import _core
        from yantra.export import timeline

        return timeline.write(result, path, _core.ChromeWriter(), **options)


PLUGIN = Chrome
