"""Multi-head attention with as many key-value heads as wished, split by heads.

Weights: queries, keys and values in one product split by columns, the output projection by rows.
(Vaswani et al., 2017; grouped queries: Ainslie et al., 2023; rotary positions: Su et al., 2021;
norms of queries and keys: Qwen3, 2025.)
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.attention import Heads, attention
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear


class Attention(Block):
    """`heads` queries share `kv_heads` keys and values of width `head_dim`."""

    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: bool = False
    rope: bool = True
    causal: bool = True
    window: int | None = None

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        d, kv_heads = self.head_dim, self._kv_heads(g)
        hidden = x.sizes[-1][1]
        with g.scope("attention"):
            q, k, v = linear(
                g, x, "qkv",
                {"q": self.heads * d, "k": kv_heads * d, "v": kv_heads * d},
                split="out", bias=self.qkv_bias,
            )  # fmt: skip
            if self.qk_norm:
                q = elementwise(
                    g, "q_norm", [q], flops=4, kind="norm", saves=(0,), weights={"weight": d}
                )
                k = elementwise(
                    g, "k_norm", [k], flops=4, kind="norm", saves=(0,), weights={"weight": d}
                )
            if self.rope:
                q = elementwise(g, "q_rope", [q], flops=3, kind="rope", backward_flops=3)
                k = elementwise(g, "k_rope", [k], flops=3, kind="rope", backward_flops=3)
            heads = Heads(self.heads, kv_heads, d, d, self.causal, self.window)
            context = attention(g, q, k, v, heads)
            (out,) = linear(g, context, "proj", {"hidden": hidden}, split="in", bias=self.out_bias)
        return out

    def _kv_heads(self, g: Graph) -> int:
        """Return the key-value heads computed: with more ranks than heads, each has a copy of one.

        Only without training: copies would need their gradients added.
        """
        tp = g.setting.ways("tp")
        if self.kv_heads % tp == 0:
            return self.kv_heads
        if tp % self.kv_heads == 0 and not g.setting.training:
            return tp
        problem = f"{self.kv_heads} key-value heads cannot be split over {tp} ranks"
        raise ConfigError("tp", f"{problem}; the nearest possible is {_nearest(self.kv_heads, tp)}")

    def kv_bytes_per_token(self, width: int) -> int:
        """Without a causal mask nothing is generated token by token, and nothing is cached."""
        return 0 if not self.causal else 2 * self.kv_heads * self.head_dim * width


def _nearest(heads: int, tp: int) -> int:
    return max(ways for ways in range(1, tp + 1) if heads % ways == 0)
