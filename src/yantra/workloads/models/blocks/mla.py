"""Multi-head latent attention: keys and values are expanded from one compressed row per token.

Products down are split by columns and gathered; under sequence parallelism each rank compresses its
own tokens, and only latent rows are gathered. Products up are split by heads. (DeepSeek-V2, 2024,
section 2.1; the split is Megatron Core's.)

With an index (`sparse_index.py`) a query attends to the tokens it scores highest.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.models.blocks.mla_cached import cached_attention
from yantra.workloads.models.blocks.sparse_index import SparseIndex
from yantra.workloads.operators.graph import Graph, Reach, Tensor
from yantra.workloads.operators.graph.operators.attention import Heads, attention
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.linear import Split, linear


class MLA(Block):
    """`q_lora` 0 leaves queries uncompressed (DeepSeek-V2-Lite).

    A query attends to at most `keys` tokens (0: all), chosen by `index`, or by an earlier layer's.
    """

    heads: int
    q_lora: int
    kv_lora: int
    qk_nope: int
    qk_rope: int
    v_dim: int
    causal: bool = True
    rope: bool = True
    keys: int = 0
    index: SparseIndex | None = None

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        hidden = x.sizes[-1][1]
        width = self.qk_nope + self.qk_rope
        is_split = g.setting.training and g.setting.ways("tp") > 1
        down: Split = "out" if is_split and not g.tokens().dimension_of("tp") else None
        with g.scope("attention"):
            q, q_latent = self._queries(g, x, down)
            if self.index is not None:
                self.index.add(g, x, x if q_latent is None else q_latent)
            latent, key_rope = linear(
                g, x, "kv_down", {"kv_latent": self.kv_lora, "k_rope": self.qk_rope}, split=down
            )
            latent = norm(g, latent, "kv_norm", "rms")
            if not g.setting.training:
                context = self._with_cache(g, q, latent, key_rope)
                (out,) = linear(g, context, "proj", {"hidden": hidden}, split="in")
                return out
            k, v = linear(
                g, latent, "kv_up",
                {"k": self.heads * self.qk_nope, "v": self.heads * self.v_dim}, split="out",
            )  # fmt: skip
            if self.rope:
                q = elementwise(g, "q_rope", [q], flops=1, kind="rope", backward_flops=1)
            keys = {"tokens": x.size("tokens"), "k": self.heads * width}
            k = elementwise(
                g, "k_rope", [k, key_rope], flops=1, kind="rope", sizes=keys,
                placement=k.placement.dual(), backward_flops=1,
            )  # fmt: skip
            heads = Heads(self.heads, self.heads, width, self.v_dim, self.causal, self.keys or None)
            context = attention(g, q, k, v, heads)
            (out,) = linear(g, context, "proj", {"hidden": hidden}, split="in")
        return out

    def _with_cache(self, g: Graph, q: Tensor, latent: Tensor, key_rope: Tensor) -> Tensor:
        latent = settle(g, latent, "latent", latent.placement.without("tp"))
        key_rope = settle(g, key_rope, "rope", key_rope.placement.without("tp"))
        if self.rope:
            q = elementwise(g, "q_rope", [q], flops=1, kind="rope")
        return cached_attention(g, self, q, latent, key_rope)

    def _queries(self, g: Graph, x: Tensor, down: Split) -> tuple[Tensor, Tensor | None]:
        size = {"q": self.heads * (self.qk_nope + self.qk_rope)}
        if not self.q_lora:
            return linear(g, x, "q", size, split="out")[0], None
        (latent,) = linear(g, x, "q_down", {"q_latent": self.q_lora}, split=down)
        latent = norm(g, latent, "q_norm", "rms")
        return linear(g, latent, "q_up", size, split="out")[0], latent

    @property
    def reach(self) -> Reach:
        return Reach(self.causal, self.keys or None)

    def caches(self) -> tuple[Cache, ...] | None:
        if not self.causal:
            return None
        rows = Cache(1, self.kv_lora + self.qk_rope)
        return (rows,) if self.index is None else (rows, self.index.cache())
