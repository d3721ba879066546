"""A transformer's layer that normalises the results of attention and feed-forward.

Sources: OLMo 2, 2024 (arXiv 2501.00656), section 3; EXAONE 4.0, 2025.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import norm, residual, settle


class ResultNormLayer(Block):
    """Layer of width `hidden`; `norm` is `rms` or `layer`."""

    hidden: int
    attention: Block
    mlp: Block
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        for block, name in ((self.attention, "attention"), (self.mlp, "mlp")):
            y = block.build(g, x)
            assert y is not None
            y = settle(g, y, f"{name}_sum", x.placement)
            x = residual(g, f"{name}_residual", norm(g, y, f"{name}_post_norm", self.norm), x)
        return x

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.attention.caches()
