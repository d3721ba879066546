"""A head that predicts more tokens: one more layer, and the loss again, for each of them.

Sources: DeepSeek-V3, 2024, section 2.2; Gloeckle et al., 2024; Megatron-LM
(core/transformer/multi_token_prediction.py).
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.embedding import Embedding
from yantra.workloads.models.blocks.head import Head
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise, norm, settle
from yantra.workloads.operators.graph.operators.linear import linear


class MoreTokens(Block):
    """`modules` layers like `layer` behind the `head`, for training alone."""

    head: Head
    layer: Block
    embedding: Embedding
    modules: int
    norm: str = "rms"

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        self.head.build(g, x)
        if not g.setting.training:
            return
        for number in range(self.modules):
            with g.unit(f"mtp.{number}"):
                x = self._module(g, x)
            with g.scope(f"mtp{number}"):
                self.head.loss(g, x, "none")

    def _module(self, g: Graph, x: Tensor) -> Tensor:
        hidden = self.head.hidden
        ahead = norm(g, self.embedding.build(g, None), "embedding_norm", self.norm)
        stream = norm(g, x, "hidden_norm", self.norm)
        joined = elementwise(
            g, "join", [stream, ahead], flops=0, placement=stream.placement.dual(),
            sizes={"tokens": g.setting.batch.tokens, "joined": 2 * hidden},
        )  # fmt: skip
        (made,) = linear(g, joined, "proj", {"hidden": hidden}, split="out")
        made = settle(g, made, "proj.whole", g.tokens())
        result = self.layer.build(g, made)
        assert result is not None
        return norm(g, result, "norm", self.norm)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return self.head.input_sizes(g)
