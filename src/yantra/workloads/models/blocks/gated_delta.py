"""A linear-attention mixer with the gated delta rule.

Sources: Yang, Kautz and Hatamizadeh, "Gated Delta Networks", ICLR 2025 (arXiv 2412.06464);
Qwen3-Next, 2025.
"""

from __future__ import annotations

from typing import Literal

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, inputs, states
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.delta_rule import Delta, delta_rule
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.short_convolution import short_convolution

CHUNK = 64
"""Tokens, as in flash-linear-attention's kernels."""


class GatedDelta(Block):
    """`heads` of values, `value_dim` wide, and `kv_heads` of queries and keys, `key_dim` wide."""

    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    window: int = 4
    chunk: int = CHUNK
    modules: Literal["pairs", "each", "others"] = "pairs"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp, hidden = g.setting.ways("tp"), x.sizes[-1][1]
        if self.kv_heads % tp:
            problem = (
                f"{self.kv_heads} key heads of linear attention cannot be split over {tp} ranks"
            )
            nearest = max(ways for ways in range(1, tp + 1) if self.kv_heads % ways == 0)
            raise ConfigError("tp", f"{problem}; the nearest possible is {nearest}")
        values = self.heads * self.value_dim
        columns = {
            "qkv": 2 * self.kv_heads * self.key_dim + values,
            "z": values, "b": self.heads, "a": self.heads,
        }  # fmt: skip
        with g.scope("mixer"):
            qkv, z, b, a = linear(g, x, "in", columns, split="out", product=f"in:{self.modules}")
            qkv = short_convolution(g, qkv, "conv", self.window)
            g.weight("A", self.heads, ways=tp)
            g.weight("dt_bias", self.heads, ways=tp)
            sizes = Delta(self.heads, self.key_dim, self.value_dim, self.chunk)
            y = delta_rule(g, (qkv, b, a), sizes)
            y = elementwise(
                g, "norm", [y, z], flops=9, kind="norm", saves=(0, 1),
                placement=y.placement.dual(), weights={"weight": self.value_dim},
            )  # fmt: skip
            outside = "proj" if self.modules == "others" else "out"
            (out,) = linear(g, y, "out", {"hidden": hidden}, split="in", product=outside)
        return out

    def caches(self) -> tuple[Cache, ...] | None:
        kept = states(self.heads, self.key_dim * self.value_dim)
        before = self.window - 1
        values = inputs(self.heads, before * self.value_dim)
        keys = inputs(self.kv_heads, before * 2 * self.key_dim)
        return kept, values, keys
