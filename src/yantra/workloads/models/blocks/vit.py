"""The ends of a vision transformer: patches of an image as tokens, and a classifier.

Source: Dosovitskiy et al., 2021 (arXiv 2010.11929), section 3.1.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import REPLICATED, Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.loss import cross_entropy


class PatchEmbedding(Block):
    patches: int
    pixels: int
    hidden: int

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        images = g.setting.batch.sequences
        image = g.tensor("image", {"tokens": images * self.patches, "pixels": self.pixels})
        (out,) = linear(g, image, "patches", {"hidden": self.hidden}, bias=True, is_first=True)
        tokens = self.patches + 1
        out = elementwise(
            g, "add", [out], flops=1, kind="residual", costless_gradient=(0,),
            sizes={"tokens": images * tokens, "hidden": self.hidden},
            weights={"class": self.hidden, "position": tokens * self.hidden},
        )  # fmt: skip
        out = settle(g, out, "tokens", g.tokens())
        if g.setting.dropout and g.setting.training:
            out = elementwise(g, "dropout", [out], flops=1, keeps_per_element=1, backward_flops=1)
        return out


class Classifier(Block):
    hidden: int
    classes: int
    norm: str = "layer"

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        x = norm(g, x, "norm", self.norm)
        x = elementwise(
            g, "select", [x], flops=0, kind="gather", placement=REPLICATED,
            sizes={"tokens": g.setting.batch.sequences, "hidden": self.hidden},
        )  # fmt: skip
        (logits,) = linear(g, x, "logits", {"classes": self.classes}, bias=True)
        if g.setting.training:
            cross_entropy(g, logits)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return {"tokens": g.setting.batch.tokens, "hidden": self.hidden}
