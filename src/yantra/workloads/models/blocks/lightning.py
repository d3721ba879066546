"""A linear-attention mixer with a decay per head and a normalised, gated result.

Source: MiniMax-01, 2025 (arXiv 2501.08313), section 2.2.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, states
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.linear_attention import Lightning, linear_attention
from yantra.workloads.operators.graph.operators.wide_norm import wide_norm


class LightningAttention(Block):
    """`heads` of width `head_dim`; chunks of `chunk` tokens."""

    heads: int
    head_dim: int
    chunk: int = 256

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        width, hidden = self.heads * self.head_dim, x.sizes[-1][1]
        with g.scope("mixer"):
            columns = {"q": width, "k": width, "v": width, "gate": width}
            q, k, v, gate = linear(g, x, "in", columns, split="out", product="in:lightning")
            y = linear_attention(g, (q, k, v), Lightning(self.heads, self.head_dim, self.chunk))
            y = wide_norm(g, y, "norm")
            y = elementwise(
                g, "gated", [y, gate], flops=5, saves=(0, 1), placement=y.placement.dual()
            )
            (out,) = linear(g, y, "out", {"hidden": hidden}, split="in")
        return out

    def caches(self) -> tuple[Cache, ...] | None:
        return (states(self.heads, self.head_dim**2),)
