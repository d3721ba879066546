"""Exporters: the forms in which a result leaves Yantra."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a line for each rank, with its finish in microseconds.

Trade-off: easy to read and to grep; it says nothing of where the time goes.
"""

from yantra.plugin.exporter import TextExporter


class MyPlugin(TextExporter):
    def pieces(self, result, **options):
        # Texts, one after the other. They become one file, which appears whole or not at all.
        for rank, finish_ns in enumerate(result.ranks.values("finish_ns")):
            yield f"rank {rank} finishes after {finish_ns / 1000:.3f} us\\n"


PLUGIN = MyPlugin
'''


class Exporters(Kind):
    """A class derived from `yantra.plugin.exporter.Exporter`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.result.forms import forms

        return forms

    def contract(self) -> Contract:
        from yantra.kinds.exporter_laws import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(f"yantra run step.yaml --export {file}=out.txt")


PLUGIN = Exporters
