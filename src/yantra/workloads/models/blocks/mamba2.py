"""Mamba-2's layer: a norm, one product in, a short convolution, the scan, a gated norm, one out.

Heads, and the groups that share b and c, are split over tensor parallelism; a norm sees one group.
The cache is a state of fixed size and no bytes per token.
Source: Dao and Gu, "Transformers are SSMs", 2024 (arXiv 2405.21060), sections 7 and 8.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, residual
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.scan import States, scan


class Mamba2(Block):
    """`heads` of `head_dim` channels with `state` states each, after a convolution of `window`."""

    hidden: int
    heads: int
    head_dim: int
    state: int
    groups: int = 1
    window: int = 4
    chunk: int = 256
    bias: bool = False
    conv_bias: bool = True
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp = g.setting.ways("tp")
        if self.groups % tp:
            problem = f"{self.groups} groups of states cannot be split over {tp} ranks"
            nearest = max(ways for ways in range(1, tp + 1) if self.groups % ways == 0)
            raise ConfigError("tp", f"{problem}; the nearest possible is {nearest}")
        inner, shared = self.heads * self.head_dim, self.groups * self.state
        y = norm(g, x, "mixer_norm", self.norm)
        with g.scope("mixer"):
            columns = {"z": inner, "xbc": inner + 2 * shared, "dt": self.heads}
            z, xbc, dt = linear(g, y, "in", columns, split="out", bias=self.bias)
            g.weight("conv.weight", self.window * columns["xbc"], ways=tp)
            if self.conv_bias:
                g.weight("conv.bias", columns["xbc"], ways=tp)
            xbc = elementwise(
                g, "conv", [xbc], flops=2 * self.window + 5, kind="conv1d", saves=(0,)
            )
            for name in ("A", "D", "dt_bias"):
                g.weight(name, self.heads, ways=tp)
            sizes = States(self.heads, self.head_dim, self.state, self.groups, self.chunk)
            y = scan(g, xbc, dt, sizes)
            g.weight("norm.weight", inner, ways=tp)
            y = elementwise(
                g, "norm", [y, z], flops=9, kind="norm", saves=(0, 1), placement=y.placement.dual()
            )
            (y,) = linear(g, y, "out", {"hidden": self.hidden}, split="in", bias=self.bias)
        return residual(g, "mixer_residual", y, x)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}
