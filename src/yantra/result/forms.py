"""The forms in which results leave Yantra, by name; `yantra.export` has them.

A result imports no form, so forms may use all of Yantra. Trade-off: options of a form are checked
when it is used.
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
    """The exporter of a name or file. Raises ConfigError for an unknown name."""
    return forms.get(form)()
