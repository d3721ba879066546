"""The forms in which results leave Yantra, by name; `yantra.export` has them."""

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
    return forms.get(form)()
