"""Kinds of fields: how a value is read, checked, written and described, said once per field.

A table of fields (`Section`) says of each the key, the kind with its unit and range, and one line
of meaning. The reader of files, the checks of values made in Python, the JSON Schema and the tables
of the reference pages follow from it. Scenario files (`yantra.scenario.layout`) and the options of
plug-ins are such tables.
"""

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
