"""A layer with one block: a norm, attention or a mixer or a feed-forward, and the sum.

(Nemotron-H, NVIDIA, 2025 (arXiv 2504.03624), section 2.)
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import norm, residual


class SingleLayer(Block):
    """Pre-norm layer of width `hidden` around one block."""

    hidden: int
    block: Block
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        y = self.block.build(g, norm(g, x, "input_norm", self.norm))
        assert y is not None
        return residual(g, "residual", y, x)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.block.caches()
