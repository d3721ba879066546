"""Multi-head attention with any number of key-value heads, split by heads.

Sources: Vaswani et al., 2017; Ainslie et al., 2023 (grouped queries); Su et al., 2021 (rotary
positions); Qwen3, 2025, and OLMo 2, 2024 (norms); Qiu et al., 2025 (arXiv 2505.06708, gates);
gpt-oss model card, 2025 (sinks); Llama 4, 2025 (chunks).
"""

from __future__ import annotations

from typing import Literal

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.models.blocks.sparse_index import SparseIndex
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.attention import Heads, attention
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.wide_norm import wide_norm


class Attention(Block):
    """`heads` queries share `kv_heads` keys and values of width `head_dim`.

    Values are `value_dim` wide unless 0. `qk_norm` is over each head, all heads, or each without a
    weight. `gate` multiplies results by a number per element or head. `chunked`: tokens see their
    chunk of `window` tokens. `shared_kv`: keys are also values, before their norms. With an `index`
    a query attends to at most `keys` tokens.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int = 0
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm: Literal["none", "head", "whole", "unweighted"] = "none"
    gate: Literal["none", "elements", "heads"] = "none"
    sinks: bool = False
    shared_kv: bool = False
    rope: bool = True
    causal: bool = True
    window: int | None = None
    chunked: bool = False
    keys: int = 0
    index: SparseIndex | None = None

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        d, kv_heads, hidden = self.head_dim, self._kv_heads(g), x.sizes[-1][1]
        wide = self.value_dim or d
        with g.scope("attention"):
            if self.index is not None:
                self.index.add(g, x, x)
            made = linear(g, x, "qkv", self._columns(kv_heads), split="out", bias=self.qkv_bias)
            q, k = made[:2]
            v = k if self.shared_kv else made[2]
            q, k = self._normed(g, q, self.heads, "q"), self._normed(g, k, kv_heads, "k")
            if self.rope:
                q = elementwise(g, "q_rope", [q], flops=3, kind="rope", backward_flops=3)
                k = elementwise(g, "k_rope", [k], flops=3, kind="rope", backward_flops=3)
            if self.sinks:
                g.weight("sinks", self.heads, ways=g.setting.ways("tp"))
            heads = Heads(
                self.heads, kv_heads, d, wide, self.causal, self.window or self.keys or None,
                self.chunked, self.keys > 0,
            )  # fmt: skip
            context = attention(g, q, k, v, heads)
            if self.gate != "none":
                context = elementwise(
                    g, "gated", [context, made[-1]], flops=5, saves=(0, 1),
                    placement=context.placement.dual(),
                )  # fmt: skip
            (out,) = linear(g, context, "proj", {"hidden": hidden}, split="in", bias=self.out_bias)
        return out

    def _columns(self, kv_heads: int) -> dict[str, int]:
        wide = self.value_dim or self.head_dim
        columns = {"q": self.heads * self.head_dim, "k": kv_heads * self.head_dim}
        if not self.shared_kv:
            columns["v"] = kv_heads * wide
        if self.gate != "none":
            columns["gate"] = self.heads * (wide if self.gate == "elements" else 1)
        return columns

    def _normed(self, g: Graph, x: Tensor, heads: int, name: str) -> Tensor:
        if self.qk_norm == "none":
            return x
        if self.qk_norm == "whole":
            return wide_norm(g, x, f"{name}_norm")
        return elementwise(
            g, f"{name}_norm", [x], flops=4, kind="norm", saves=(0,),
            weights={"weight": self.head_dim} if self.qk_norm == "head" else None,
        )  # fmt: skip

    def _kv_heads(self, g: Graph) -> int:
        tp = g.setting.ways("tp")
        if self.kv_heads % tp == 0:
            return self.kv_heads
        if tp % self.kv_heads == 0 and not g.setting.training:
            return tp
        problem = f"{self.kv_heads} key-value heads cannot be split over {tp} ranks"
        raise ConfigError("tp", f"{problem}; the nearest possible is {_nearest(self.kv_heads, tp)}")

    def caches(self) -> tuple[Cache, ...] | None:
        row = self.head_dim + (self.value_dim or self.head_dim)
        if not self.causal:
            return None
        rows = Cache(self.kv_heads, row, self.window)
        return (rows,) if self.index is None else (rows, self.index.cache())


def _nearest(heads: int, tp: int) -> int:
    return max(ways for ways in range(1, tp + 1) if heads % ways == 0)
