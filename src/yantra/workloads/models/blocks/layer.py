"""A transformer's layer: attention and feed-forward, normalised before, added after."""

from __future__ import annotations

from yantra.workloads.models.blocks.attention import Attention
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.models.blocks.mlp import MLP
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import norm, residual


def has_bias(block: Block) -> bool:
    return (isinstance(block, MLP) and block.bias) or (
        isinstance(block, Attention) and block.out_bias
    )


class Layer(Block):
    """Pre-norm layer; `norm` is `rms` or `layer`."""

    hidden: int
    attention: Block
    mlp: Block
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        y = self.attention.build(g, norm(g, x, "attention_norm", self.norm))
        assert y is not None
        x = residual(g, "attention_residual", y, x, biased=has_bias(self.attention))
        y = self.mlp.build(g, norm(g, x, "mlp_norm", self.norm))
        assert y is not None
        return residual(g, "mlp_residual", y, x, biased=has_bias(self.mlp))

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.attention.caches()
