"""A layer that was taken out. (NVIDIA, Puzzle, 2024, arXiv 2411.19146.)"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor


class Nothing(Block):
    """A layer of width `hidden` without parts."""

    hidden: int

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        return x

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return ()
