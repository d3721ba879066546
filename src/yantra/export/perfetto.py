"""Result -> the protobuf of Perfetto (ui.perfetto.dev, trace_processor)."""

from __future__ import annotations

from typing import Any

from yantra.base.output import Path
from yantra.export.exporter import Exporter
from yantra.result import Result


class Perfetto(Exporter):
    def write(self, result: Result, path: Path, **options: Any) -> list[str]:
        """As `yantra.export.timeline.write`."""
        from yantra import _core
        from yantra.export import timeline

        return timeline.write(result, path, _core.PerfettoWriter(), **options)


PLUGIN = Perfetto
