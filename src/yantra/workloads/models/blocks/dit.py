"""A diffusion transformer: norms, shifts and gates are made from the condition.

Source: Peebles and Xie, 2023 (arXiv 2212.09748), section 3 (adaLN-Zero).
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.lookup import lookup
from yantra.workloads.operators.graph.operators.regression import pointwise_loss
from yantra.workloads.operators.graph.operators.view import joined, parts

_MODULATED_FLOPS = 9  # layer norm 7, scale and shift 2
_SQUARE_FLOPS = 3


def condition_sizes(g: Graph, hidden: int) -> dict[str, int]:
    batch = g.setting.batch
    return {"tokens": batch.tokens + batch.sequences, "hidden": hidden}


def _split(g: Graph, x: Tensor) -> tuple[Tensor, Tensor]:
    if g.tokens().shards:
        field = "cp" if g.setting.ways("cp") > 1 else "sequence_parallel"
        raise ConfigError(field, "a condition is not split along the sequence; leave it off")
    hidden, batch = x.size("hidden"), g.setting.batch
    patches, condition = parts(
        g, x,
        {
            "patches": {"tokens": batch.tokens, "hidden": hidden},
            "condition": {"tokens": batch.sequences, "hidden": hidden},
        },
    )  # fmt: skip
    return patches, condition


def _modulation(g: Graph, condition: Tensor, names: tuple[str, ...]) -> tuple[Tensor, ...]:
    active = elementwise(g, "silu", [condition], flops=4, saves=(0,))
    sizes = dict.fromkeys(names, condition.size("hidden"))
    return linear(g, active, "modulation", sizes, bias=True)


def _modulated(g: Graph, x: Tensor, name: str, scale: Tensor, shift: Tensor) -> Tensor:
    inputs = [x, scale, shift]
    return elementwise(g, name, inputs, flops=_MODULATED_FLOPS, kind="norm", saves=(0, 1))


class DiTEmbedding(Block):
    """`patches` patches of `pixels` numbers; a condition from the time step and `classes`."""

    patches: int
    pixels: int
    hidden: int
    classes: int
    frequencies: int = 256

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        images, size = g.setting.batch.sequences, {"hidden": self.hidden}
        latent = g.tensor("latent", {"tokens": images * self.patches, "pixels": self.pixels})
        (patches,) = linear(g, latent, "patches", size, bias=True, is_first=True)
        patches = elementwise(
            g, "position", [patches], flops=1, kind="residual", costless_gradient=(0,)
        )
        with g.scope("time"):
            waves = g.tensor("waves", {"tokens": images, "frequency": self.frequencies})
            (step,) = linear(g, waves, "in", size, bias=True, is_first=True)
            step = elementwise(g, "silu", [step], flops=4, saves=(0,))
            (step,) = linear(g, step, "out", size, bias=True)
        # One more class for none, which guidance needs.
        label = lookup(g, "label", self.classes + 1, self.hidden, tokens=images, split=False)
        condition = elementwise(
            g, "condition", [step, label], flops=1, kind="residual", costless_gradient=(0, 1)
        )
        return joined(g, [patches, condition], "with_condition", condition_sizes(g, self.hidden))


class DiTLayer(Block):
    """Attention and feed-forward, shifted, scaled and gated by the condition."""

    hidden: int
    attention: Block
    mlp: Block

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        patches, condition = _split(g, x)
        names = [f"{what}_{part}" for part in ("attention", "mlp")
                 for what in ("shift", "scale", "gate")]  # fmt: skip
        rows = _modulation(g, condition, tuple(names))
        for block, name, (shift, scale, gate) in (
            (self.attention, "attention", rows[:3]),
            (self.mlp, "mlp", rows[3:]),
        ):
            y = block.build(g, _modulated(g, patches, f"{name}_norm", scale, shift))
            assert y is not None
            patches = elementwise(
                g, f"{name}_residual", [y, patches, gate], flops=2, kind="residual",
                saves=(0, 2), costless_gradient=(1,), placement=patches.placement.dual(),
            )  # fmt: skip
        return joined(g, [patches, condition], "with_condition", condition_sizes(g, self.hidden))

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return condition_sizes(g, self.hidden)


class DiTHead(Block):
    hidden: int
    outputs: int

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        patches, condition = _split(g, x)
        shift, scale = _modulation(g, condition, ("shift", "scale"))
        y = _modulated(g, patches, "norm", scale, shift)
        (noise,) = linear(g, y, "noise", {"outputs": self.outputs}, bias=True)
        if g.setting.training:
            pointwise_loss(g, noise, flops=_SQUARE_FLOPS)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return condition_sizes(g, self.hidden)
