"""The forms in which results leave Yantra, by name; what they are, `yantra.export` knows.

A result knows its forms by name only, so it imports none of them, and a form may use anything of
Yantra. Trade-off: a form's own options are checked by the form, when it is asked for.
"""

from __future__ import annotations

from typing import Any

from yantra.base.registry import Registry

forms: Registry[type[Any]] = Registry(
    "form of export",
    "yantra.export",
    "yantra.exporters",
    base="yantra.export.exporter.Exporter",
)


def exporter(form: str) -> Any:
    """Return the exporter of a name or of a file. Raises ConfigError for a name that none has."""
    return forms.get(form)()
