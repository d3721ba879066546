"""Kimi Delta Attention: the gated delta rule with a decay per channel of the keys.

Source: Kimi Team, "Kimi Linear", 2025 (arXiv 2510.26692), section 3.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, inputs, states
from yantra.workloads.models.blocks.gated_delta import CHUNK
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.delta_rule import Delta, delta_rule
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.short_convolution import short_convolution


class KimiDelta(Block):
    """`heads` with queries, keys and values `head_dim` wide."""

    heads: int
    head_dim: int
    window: int = 4
    chunk: int = CHUNK

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp, hidden = g.setting.ways("tp"), x.sizes[-1][1]
        width = self.heads * self.head_dim
        with g.scope("mixer"):
            qkv, beta = linear(
                g, x, "in", {"qkv": 3 * width, "beta": self.heads}, split="out", product="in:others"
            )
            qkv = short_convolution(g, qkv, "conv", self.window)
            decay = self._thin(g, x, "decay", width)
            gate = self._thin(g, x, "gate", width)
            g.weight("A", self.heads, ways=tp)
            g.weight("dt_bias", width, ways=tp)
            sizes = Delta(self.heads, self.head_dim, self.head_dim, self.chunk)
            y = delta_rule(g, (qkv, decay, beta), sizes)
            y = elementwise(
                g, "norm", [y, gate], flops=9, kind="norm", saves=(0, 1),
                placement=y.placement.dual(), weights={"weight": self.head_dim},
            )  # fmt: skip
            (out,) = linear(g, y, "out", {"hidden": hidden}, split="in", product="proj")
        return out

    def _thin(self, g: Graph, x: Tensor, name: str, width: int) -> Tensor:
        (low,) = linear(g, x, f"{name}_down", {name: self.head_dim})
        (up,) = linear(g, low, f"{name}_up", {name: width}, split="out")
        return up

    def caches(self) -> tuple[Cache, ...] | None:
        kept = states(self.heads, self.head_dim**2)
        return kept, inputs(self.heads, (self.window - 1) * 3 * self.head_dim)
