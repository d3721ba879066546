"""The feed-forward block: up, non-linearity, down; gated (SwiGLU: Shazeer, 2020) or not."""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import Split, linear


class MLP(Block):
    intermediate: int
    gated: bool = True
    bias: bool = False

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        return self.run(g, x)

    def caches(self) -> tuple[Cache, ...] | None:
        return ()

    def run(self, g: Graph, x: Tensor, *, whole: bool = False) -> Tensor:
        """Add the block; `whole` keeps all weights on every rank, for split tokens."""
        columns: Split = None if whole else "out"
        rows: Split = None if whole else "in"
        hidden = x.sizes[-1][1]
        with g.scope("mlp"):
            if self.gated:
                sizes = {"gate": self.intermediate, "up": self.intermediate}
                gate, up = linear(g, x, "gate_up", sizes, split=columns, bias=self.bias)
                active = swiglu(g, gate, up, biased=self.bias)
            else:
                (up,) = linear(g, x, "up", {"up": self.intermediate}, split=columns, bias=self.bias)
                active = elementwise(g, "gelu", [up], flops=8, saves=(0,), biased=self.bias)
            (out,) = linear(g, active, "down", {"hidden": hidden}, split=rows, bias=self.bias)
        return out


def swiglu(g: Graph, gate: Tensor, up: Tensor, *, biased: bool = False) -> Tensor:
    return elementwise(
        g, "swiglu", [up, gate], flops=5, saves=(0, 1), placement=up.placement.dual(), biased=biased
    )
