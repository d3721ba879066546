"""Models: what a job trains or serves, by its sizes or by its blocks."""

from __future__ import annotations

from typing import Any

from yantra.base.contract import Contract
from yantra.base.registry import Registry
from yantra.kinds.kind import Kind, Use

SKELETON = '''"""my_plugin: a decoder of 16 layers that computes its feed-forward in two thin steps.

Trade-off: a third of the usual weights of a feed-forward part, for one more product.
Source: name the paper or the config that the sizes are from.
"""

from yantra.plugin.model import (
    Attention,
    Block,
    Embedding,
    Head,
    Layer,
    Model,
    elementwise,
    linear,
    settle,
)

# A dense or mixture-of-experts decoder needs no blocks of its own, only its sizes:
#
#     from yantra.plugin.model import Transformer
#     PLUGIN = Transformer(name="my_plugin", source="...", num_layers=16, hidden_size=1024,
#                          num_attention_heads=16, ffn_hidden_size=4096, vocab_size=50304,
#                          seq_length=2048)

HIDDEN = 1024


class ThinMLP(Block):
    # Fields are sizes. One that is called `intermediate` is held against a plan by itself.
    intermediate: int
    thin: int

    def build(self, g, x):
        # Takes a tensor and returns one; each call adds an operator. Sizes are those of a whole
        # replica, and split="out" or "in" cuts a weight over tensor parallelism. Collectives,
        # gradients and memory follow.
        with g.scope("mlp"):
            (thin,) = linear(g, x, "up_thin", {"thin": self.thin})
            (wide,) = linear(g, thin, "up", {"wide": self.intermediate}, split="out")
            wide = elementwise(g, "gelu", [wide], flops=8, saves=(0,))
            (thin,) = linear(g, wide, "down_thin", {"thin": self.thin}, split="in")
            thin = settle(g, thin, "thin_sum", g.tokens())
            (out,) = linear(g, thin, "down", {"hidden": HIDDEN})
        return out


LAYER = Layer(
    hidden=HIDDEN,
    attention=Attention(heads=16, kv_heads=16, head_dim=64),
    mlp=ThinMLP(intermediate=4096, thin=256),
)

PLUGIN = Model(
    name="my_plugin",
    hidden=HIDDEN,
    front=Embedding(vocab=50304, hidden=HIDDEN),
    layers=(LAYER,) * 16,
    tail=Head(vocab=50304, hidden=HIDDEN),
    sequence=2048,
    source="my_plugin.py",
)
'''


class Models(Kind):
    """A `workloads.models.model.Model`, the sizes of a `Transformer`, or several of either."""

    skeleton = SKELETON

    def registry(self) -> Registry[Any]:
        from yantra.workloads.models.zoo import families

        return families

    def contract(self) -> Contract:
        from yantra.workloads.model_contract import CONTRACT

        return CONTRACT

    def use(self, file: str) -> Use:
        return Use(f"yantra workload train --model {file} --tp 2 --dp 2 -o step.yw")

    def taken_by(self, name: str) -> str:
        from yantra.workloads.models import zoo

        if name in zoo.names():
            return f"the model {name}"
        return super().taken_by(name)


PLUGIN = Models
