"""Mamba-1's mixer: a product in, a short convolution, the scan and its inputs, a product out.

Sources: Gu and Dao, 2023 (arXiv 2312.00752), section 3.4; Lieber et al., "Jamba", 2024 (arXiv
2403.19887), section 6.4 (norms).
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, inputs, states
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.selective_scan import selective_scan
from yantra.workloads.operators.graph.operators.short_convolution import short_convolution


class Mamba1(Block):
    """`heads` channels with `state` states each; time steps pass through `steps` columns."""

    hidden: int
    heads: int
    state: int = 16
    steps: int = 0
    window: int = 4
    bias: bool = False
    conv_bias: bool = True
    norms: bool = False

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp, inner = g.setting.ways("tp"), self.heads
        with g.scope("mixer"):
            y, z = linear(g, x, "in", {"x": inner, "z": inner}, split="out", bias=self.bias)
            y = short_convolution(g, y, "conv", self.window, bias=self.conv_bias)
            thin = {"steps": self.steps, "b": self.state, "c": self.state}
            parts = zip(thin, linear(g, y, "steer", thin, split="in"), strict=True)
            made = [settle(g, one, f"{name}.sum", one.placement.dual()) for name, one in parts]
            if self.norms:
                named = zip(thin, made, strict=True)
                made = [norm(g, one, f"{name}_norm", "rms") for name, one in named]
            (steps,) = linear(g, made[0], "steps", {"x": inner}, split="out", bias=True)
            g.weight("A", inner * self.state, ways=tp)
            g.weight("D", inner, ways=tp)
            y = selective_scan(g, (y, steps, made[1], made[2]), inner, self.state)
            y = elementwise(g, "gated", [y, z], flops=5, saves=(0, 1), placement=y.placement.dual())
            (out,) = linear(g, y, "out", {"hidden": self.hidden}, split="in", bias=self.bias)
        return out

    def caches(self) -> tuple[Cache, ...] | None:
        kept = states(self.heads, self.state)
        return kept, inputs(self.heads, self.window - 1)
