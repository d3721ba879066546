"""A transformer's layer whose attention and feed-forward have the same input.

Results are added before any communication, so tensor parallelism sums once, not twice. (Wang and
Komatsuzaki, GPT-J, 2021; Black et al., GPT-NeoX-20B, 2022, section 2.2; one norm: Cohere's Command
R, 2024.)
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.graph import Gradient, Use
from yantra.workloads.operators.graph.operators.elementwise import norm, residual
from yantra.workloads.operators.operations import Operation


class ParallelLayer(Block):
    """Pre-norm layer of width `hidden`; `shared_norm`: one norm for both."""

    hidden: int
    attention: Block
    mlp: Block
    norm: str = "layer"
    shared_norm: bool = False

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        y = norm(g, x, "attention_norm", self.norm)
        attended = self.attention.build(g, y)
        passed = self.mlp.build(g, y if self.shared_norm else norm(g, x, "mlp_norm", self.norm))
        assert attended is not None and passed is not None
        return residual(g, "residual", sum_of(g, attended, passed), x)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}

    def caches(self) -> tuple[Cache, ...] | None:
        return self.attention.caches()


def sum_of(g: Graph, a: Tensor, b: Tensor) -> Tensor:
    out = g.tensor("branches", dict(a.sizes), a.placement, a.width)
    size = g.bytes(out)
    program = Operation(
        "", "residual", "forward", "",
        vector_flops=g.local(out), bytes_read=2 * size, bytes_written=size,
    )  # fmt: skip
    uses = (Use(a, a.placement), Use(b, a.placement))
    gives = tuple((at, a.placement.dual()) for at in range(2))
    g.add("branches", uses, (out,), (program,), (Gradient((), (0,), gives=gives),))
    return out
