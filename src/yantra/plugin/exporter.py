"""An exporter: a result in another form."""

from __future__ import annotations

from yantra.base.output import whole_file
from yantra.export.exporter import Exporter, TableExporter, TextExporter

__all__ = [
    "Exporter",
    "TableExporter",
    "TextExporter",
    "whole_file",
]
