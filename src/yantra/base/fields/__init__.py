"""Kinds of fields: how a value is read, checked, written and described."""

from __future__ import annotations

from yantra.base.fields.lists import ByRate, Many, NameSet, Numbered, OneOrMany
from yantra.base.fields.plugin import (
    Plugin,
    PluginChoice,
    PluginField,
    files_of,
    kind_of,
    made,
    named,
    options_of,
)
from yantra.base.fields.scalars import (
    Choice,
    Field,
    File,
    Flag,
    NameOrCount,
    Number,
    Quantity,
    Schema,
    Text,
    Whole,
)
from yantra.base.fields.section import Changes, Entry, Section, read_options

__all__ = [
    "ByRate",
    "Changes",
    "Choice",
    "Entry",
    "Field",
    "File",
    "Flag",
    "Many",
    "NameOrCount",
    "NameSet",
    "Number",
    "Numbered",
    "OneOrMany",
    "Plugin",
    "PluginChoice",
    "PluginField",
    "Quantity",
    "Schema",
    "Section",
    "Text",
    "Whole",
    "files_of",
    "kind_of",
    "made",
    "named",
    "options_of",
    "read_options",
]
