"""A transformer's layer with norms before and after attention and feed-forward.

(Ding et al., CogView, 2021; Gemma Team, "Gemma 2", 2024, section 2.)
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import norm, residual, settle


class SandwichLayer(Block):
    """Layer of width `hidden`; `norm` is `rms` or `layer`."""

    hidden: int
    attention: Block
    mlp: Block
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        for block, name in ((self.attention, "attention"), (self.mlp, "mlp")):
            y = block.build(g, norm(g, x, f"{name}_norm", self.norm))
            assert y is not None
            y = settle(g, y, f"{name}_sum", x.placement)
            x = residual(g, f"{name}_residual", norm(g, y, f"{name}_post_norm", self.norm), x)
        return x

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.attention.caches()
