"""Token embedding, split by vocabulary over tensor parallelism, with learned positions if any.

Sources: Shoeybi et al., Megatron-LM, 2019, section 3; GPT-2, 2019; BERT, 2018.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.lookup import lookup


class Embedding(Block):
    """`vocab` rows of width `hidden`; `tied` shares them with the head.

    `positions` and `types` are rows of added learned tables (0: none).
    """

    vocab: int
    hidden: int
    positions: int = 0
    types: int = 0
    norm: str | None = None
    tied: bool = False

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        tokens = g.setting.batch.tokens
        rows = padded(self.vocab, g.setting.ways("tp"))
        again = self.tied and any(weight.is_tied for weight in g.weights)
        out = lookup(g, "word", rows, self.hidden, tokens=tokens, tied=self.tied, again=again)
        if self.positions or self.types:
            tables = {"position": self.positions * self.hidden, "type": self.types * self.hidden}
            out = elementwise(
                g, "add", [out], flops=bool(self.positions) + bool(self.types), kind="residual",
                placement=g.tokens(), costless_gradient=(0,),
                weights={name: size for name, size in tables.items() if size},
            )  # fmt: skip
        else:
            out = settle(g, out, "word.sum", g.tokens())
        if self.norm:
            out = norm(g, out, "norm", self.norm)
        if g.setting.dropout and g.setting.training:
            out = elementwise(g, "dropout", [out], flops=1, keeps_per_element=1, backward_flops=1)
        return out


def padded(vocab: int, tp: int) -> int:
    """The vocabulary padded for equal parts on `tp` ranks."""
    return -(-vocab // tp) * tp
