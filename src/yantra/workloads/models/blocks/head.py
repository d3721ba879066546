"""The end of a language model: last norm, product with the vocabulary, loss.

Tensor parallelism splits the vocabulary and the loss (Shoeybi et al., 2019).
"""

from __future__ import annotations

from typing import Literal

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.embedding import padded
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.loss import cross_entropy
from yantra.workloads.operators.graph.operators.sampling import sample


class Head(Block):
    """`tied` uses the embedding's weight; `norm` None omits the last norm."""

    vocab: int
    hidden: int
    norm: str | None = "rms"
    tied: bool = False
    bias: bool = False

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        if self.norm:
            x = norm(g, x, "norm", self.norm)
        if g.setting.batch.logits != g.setting.batch.tokens:
            x = settle(g, x, "whole", x.placement.without("tp"))
            x = elementwise(
                g, "select", [x], flops=0, kind="gather",
                sizes={"tokens": g.setting.batch.logits, "hidden": self.hidden},
            )  # fmt: skip
        exists = self.tied and any(weight.is_tied for weight in g.weights)
        self.loss(g, x, "none" if exists else "tied" if self.tied else "own")

    def loss(self, g: Graph, x: Tensor, weight: Literal["own", "tied", "none"]) -> None:
        """Add the product with the vocabulary, and the loss or the next tokens."""
        (logits,) = linear(
            g, x, "logits", {"vocab": padded(self.vocab, g.setting.ways("tp"))},
            split="out", bias=self.bias, precise=True, weight=weight,
        )  # fmt: skip
        if g.setting.training:
            cross_entropy(g, logits)
        elif not g.setting.batch.all_logits:
            sample(g, settle(g, logits, "gather", logits.placement.without("tp")))

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}
