"""The values of `options:` of a plug-in: a record, and the fields that read it."""

from __future__ import annotations

from yantra.base.fields import Changes, Entry, Flag, Many, Number, Quantity, Section, Text, Whole
from yantra.base.records import Record

__all__ = [
    "Changes",
    "Entry",
    "Flag",
    "Many",
    "Number",
    "Quantity",
    "Record",
    "Section",
    "Text",
    "Whole",
]
