"""Fabrics: physical graphs of ranks, switches and links, built from a few options."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a tree of two tiers in which each leaf has one cable to the root.

Trade-off: the fewest cables there can be, and the root is in the way of all.
Source: name the paper or the data sheet that this fabric is from.
"""

from typing import ClassVar

from yantra.plugin.fabric import LINKS, Builder, Draft, Size
from yantra.plugin.options import Record, Section, Whole


class Options(Record):
    leaves: int
    ranks_per_leaf: int
    bytes_per_ns: float
    latency_ns: float


class MyPlugin(Builder):
    # The keys beside `kind: my_plugin`: field of the record, kind of value, meaning. LINKS are
    # `bandwidth` and `latency`.
    options = Section(
        Options,
        {
            "leaves": ("leaves", Whole(at_least=2), "switches that ranks are on"),
            "ranks_per_leaf": ("ranks_per_leaf", Whole(at_least=1), "ranks on each leaf"),
            **LINKS,
        },
    )
    # Options that will do; the contract checks the graph of these.
    example: ClassVar = {
        "leaves": 4,
        "ranks_per_leaf": 2,
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
    }

    # A method `refuses` returns the key of an option that cannot be, and why.

    def size(self):
        # Ranks, devices and directed links. It is asked before the graph is made.
        leaves, ranks = self.given.leaves, self.given.leaves * self.given.ranks_per_leaf
        return Size(ranks, ranks + leaves + 1, 2 * (ranks + leaves))

    def graph(self):
        # Ranks come first. Links are added in columns: no loop over devices is needed.
        draft = Draft(self.given.leaves * self.given.ranks_per_leaf)
        leaves = draft.switches("leaf", self.given.leaves)
        root = draft.switches("root", 1)
        below = leaves[draft.ranks // self.given.ranks_per_leaf]
        draft.cables(draft.ranks, below, self.speed, "rank up", "rank down")
        draft.cables(leaves, root, self.speed, "leaf up", "leaf down")
        return draft.graph()

    # Formulas are optional; what is stated is held against the graph.

    def diameter(self):
        return 4


PLUGIN = MyPlugin
'''


class Fabrics(Kind):
    """A class derived from `yantra.plugin.fabric.Builder`."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.fabric.graphs import builders

        return builders

    def contract(self) -> Contract:
        from yantra.fabric.graphs.contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(f"yantra topology show {file}")


PLUGIN = Fabrics
