"""A selection: which algorithm runs a collective, by its kind, size and group."""

from __future__ import annotations

from yantra.collectives.selection.selection import Choice, Selection

__all__ = [
    "Choice",
    "Selection",
]
