"""Mamba-2's mixer: one product in, a short convolution, the scan, a gated norm, one product out.

Source: Dao and Gu, 2024 (arXiv 2405.21060), sections 7 and 8.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache, inputs, states
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.scan import States, scan
from yantra.workloads.operators.graph.operators.short_convolution import short_convolution


class Mamba2(Block):
    """`heads` of `head_dim` channels with `state` states each, after a convolution of `window`.

    `gated_norm` False: the scan's result is gated, not normalised (Falcon-H1).
    """

    hidden: int
    heads: int
    head_dim: int
    state: int
    groups: int = 1
    window: int = 4
    chunk: int = 256
    bias: bool = False
    conv_bias: bool = True
    gated_norm: bool = True

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        tp, groups = g.setting.ways("tp"), self._groups(g)
        inner, shared = self.heads * self.head_dim, groups * self.state
        with g.scope("mixer"):
            columns = {"z": inner, "xbc": inner + 2 * shared, "dt": self.heads}
            z, xbc, dt = linear(g, x, "in", columns, split="out", bias=self.bias)
            xbc = short_convolution(g, xbc, "conv", self.window, bias=self.conv_bias)
            for name in ("A", "D", "dt_bias"):
                g.weight(name, self.heads, ways=tp)
            sizes = States(self.heads, self.head_dim, self.state, groups, self.chunk)
            y = scan(g, xbc, dt, sizes)
            if self.gated_norm:
                g.weight("norm.weight", inner, ways=tp)
            name, kind, flops = (
                ("norm", "norm", 9) if self.gated_norm else ("gated", "elementwise", 5)
            )
            y = elementwise(
                g, name, [y, z], flops=flops, kind=kind, saves=(0, 1), placement=y.placement.dual()
            )
            (y,) = linear(g, y, "out", {"hidden": self.hidden}, split="in", bias=self.bias)
        return y

    def _groups(self, g: Graph) -> int:
        tp = g.setting.ways("tp")
        if self.groups % tp == 0:
            return self.groups
        if tp % self.groups == 0 and not g.setting.training:
            return tp
        problem = f"{self.groups} groups of states cannot be split over {tp} ranks"
        nearest = max(ways for ways in range(1, tp + 1) if self.groups % ways == 0)
        raise ConfigError("tp", f"{problem}; the nearest possible is {nearest}")

    def caches(self) -> tuple[Cache, ...] | None:
        kept = states(self.heads, self.head_dim * self.state)
        before = self.window - 1
        own = inputs(self.heads, before * self.head_dim)
        shared = inputs(self.groups, before * 2 * self.state)
        return kept, own, shared
