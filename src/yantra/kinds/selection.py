"""Selections: which algorithm runs a collective, by its kind, its size and its group."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: halving and doubling for small all-reduces, rings for large ones.

Trade-off: few steps where latency counts, few bytes where bandwidth does.
Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
MPICH", IJHPCA 2005.
"""

from yantra.plugin.selection import Choice, Selection


class MyPlugin(Selection):
    def choices(self, kind, group):
        # By ascending bytes: from so many on, one algorithm for all dimensions of the cluster, or
        # one for each. Nothing at all leaves the kind to the algorithms that the scenario names.
        if kind != "all_reduce":
            return []
        if group.ranks & (group.ranks - 1):  # not a power of two
            return [Choice(0, ("ring",))]
        return [Choice(0, ("halving_doubling",)), Choice(256 * 1024, ("ring",))]


PLUGIN = MyPlugin
'''


class Selections(Kind):
    """A class derived from `yantra.plugin.selection.Selection`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.collectives.selection import selections

        return selections

    def contract(self) -> Contract:
        from yantra.collectives.selection.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use("yantra run step.yaml", f"in step.yaml, collectives: {{selection: {file}}}")


PLUGIN = Selections
