"""A gated short convolution as a mixer: two gates and the input in one product, one product out.

Source: LFM2 technical report, 2025 (arXiv 2511.23404), section 2.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, inputs
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.short_convolution import short_convolution


class ShortConv(Block):
    """`heads` channels, each convolved with its last `window` inputs."""

    heads: int
    window: int = 3
    bias: bool = False

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        hidden = x.sizes[-1][1]
        with g.scope("mixer"):
            columns = {"b": self.heads, "c": self.heads, "x": self.heads}
            b, c, y = linear(g, x, "in", columns, split="out", bias=self.bias)
            y = elementwise(
                g, "gate_in", [y, b], flops=1, saves=(0, 1), placement=y.placement.dual()
            )
            y = short_convolution(g, y, "conv", self.window, bias=self.bias, activated=False)
            y = elementwise(
                g, "gate_out", [y, c], flops=1, saves=(0, 1), placement=y.placement.dual()
            )
            (out,) = linear(g, y, "out", {"hidden": hidden}, split="in", bias=self.bias)
        return out

    def caches(self) -> tuple[Cache, ...] | None:
        return (inputs(self.heads, self.window - 1),)
