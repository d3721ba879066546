"""A transformer's layer with a dense feed-forward beside experts, norms around each.

(Gemma 4, Google, 2026: its 26B-A4B.)
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import (
    elementwise,
    norm,
    residual,
    settle,
)


class TwoBranchLayer(Block):
    """Layer of width `hidden`; `norm` is `rms` or `layer`."""

    hidden: int
    attention: Block
    mlp: Block
    mixture: Block
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        y = self._around(g, self.attention, x, "attention")
        x = residual(g, "attention_residual", y, x)
        g.weight("router_scale", self.hidden)
        first = self._around(g, self.mlp, x, "mlp")
        second = self._around(g, self.mixture, x, "experts")
        both = elementwise(g, "branches", [first, second], flops=1, costless_gradient=(0, 1))
        return residual(g, "mlp_residual", norm(g, both, "post_norm", self.norm), x)

    def _around(self, g: Graph, block: Block, x: Tensor, name: str) -> Tensor:
        y = block.build(g, norm(g, x, f"{name}_norm", self.norm))
        assert y is not None
        y = settle(g, y, f"{name}_sum", x.placement)
        return norm(g, y, f"{name}_post_norm", self.norm)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.attention.caches()
