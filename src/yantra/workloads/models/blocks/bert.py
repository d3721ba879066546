"""BERT's own parts: norms after the residual sums, and two training heads.

Source: Devlin et al., "BERT", 2018 (arXiv 1810.04805), sections 3.1 and A.2.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.embedding import padded
from yantra.workloads.operators.graph import REPLICATED, Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, residual
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.loss import cross_entropy


class PostNormLayer(Block):
    hidden: int
    attention: Block
    mlp: Block
    norm: str = "layer"

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        y = self.attention.build(g, x)
        assert y is not None
        x = norm(g, residual(g, "attention_residual", y, x), "attention_norm", self.norm)
        y = self.mlp.build(g, x)
        assert y is not None
        return norm(g, residual(g, "mlp_residual", y, x), "mlp_norm", self.norm)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}


class MaskedHead(Block):
    vocab: int
    hidden: int
    masked_percent: int = 15

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        if g.setting.ways("cp") > 1:
            raise ConfigError("cp", "masked words do not spread evenly over a sequence; expected 1")
        batch = g.setting.batch
        self._sentences(g, self._select(g, x, "first", batch.sequences))
        words = sum(
            group.number * max(group.new * self.masked_percent // 100, 1) for group in batch.groups
        )
        self._words(g, self._select(g, x, "masked", words))

    def _select(self, g: Graph, x: Tensor, name: str, rows: int) -> Tensor:
        # with sequence parallelism every rank needs tokens of all
        sizes = {"tokens": rows, "hidden": self.hidden}
        return elementwise(g, name, [x], flops=0, kind="gather", placement=REPLICATED, sizes=sizes)

    def _sentences(self, g: Graph, first: Tensor) -> None:
        (pooled,) = linear(g, first, "pooler", {"hidden": self.hidden}, bias=True)
        pooled = elementwise(g, "tanh", [pooled], flops=4, saves_output=True)
        (follows,) = linear(g, pooled, "follows", {"classes": 2}, bias=True)
        if g.setting.training:
            cross_entropy(g, follows, "follows_loss")

    def _words(self, g: Graph, masked: Tensor) -> None:
        (y,) = linear(g, masked, "transform", {"hidden": self.hidden}, bias=True)
        y = norm(g, elementwise(g, "gelu", [y], flops=8, saves=(0,)), "norm", "layer")
        exists = any(weight.is_tied for weight in g.weights)
        (logits,) = linear(
            g, y, "logits", {"vocab": padded(self.vocab, g.setting.ways("tp"))},
            split="out", bias=True, weight="none" if exists else "tied",
        )  # fmt: skip
        if g.setting.training:
            cross_entropy(g, logits)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}
