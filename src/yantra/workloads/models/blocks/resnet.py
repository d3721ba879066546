"""A residual network of convolutions: a stem, bottlenecks, a classifier.

A bottleneck's stride is on its 3 x 3 convolution.

Source: He et al., 2016 (arXiv 1512.03385), section 4.1; torchvision for the stride.
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.operators.graph import Graph, Tensor
from yantra.workloads.operators.graph.operators.convolution import convolution, images
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.operators.linear import linear
from yantra.workloads.operators.graph.operators.loss import cross_entropy

_NORM_FLOPS = 7
_INDEX_BYTES = 8  # index of the largest in a pooling window


def _normalised(g: Graph, x: Tensor, name: str) -> Tensor:
    channels = x.size("channels")
    return elementwise(
        g, f"{name}_norm", [x], flops=_NORM_FLOPS, kind="norm", saves=(0,),
        weights={"weight": channels, "bias": channels},
    )  # fmt: skip


def _relu(g: Graph, x: Tensor, name: str) -> Tensor:
    return elementwise(g, f"{name}_relu", [x], flops=1, backward_flops=1, saves_output=True)


def _maps(g: Graph, size: int, channels: int) -> dict[str, int]:
    return {"images": g.setting.batch.sequences, "pixels": size * size, "channels": channels}


class Stem(Block):
    image: int
    channels: int
    colours: int = 3

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        picture = images(g, self.image, self.colours)
        half, quarter = -(-self.image // 2), -(-self.image // 4)
        y = convolution(g, picture, "conv", self.channels, window=7, size=half, is_first=True)
        y = _relu(g, _normalised(g, y, "conv"), "conv")
        return elementwise(
            g, "pool", [y], flops=9, kind="pool", backward_flops=1,
            sizes=_maps(g, quarter, self.channels), keeps_per_element=_INDEX_BYTES,
        )  # fmt: skip


class Bottleneck(Block):
    """1 x 1, 3 x 3 and 1 x 1 convolutions to `width`, `width` and 4 x `width` maps beside a skip.

    The input has `inputs` maps of `size` x `size`; `stride` 2 halves the size.
    """

    inputs: int
    width: int
    size: int
    stride: int = 1

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        after, outputs = -(-self.size // self.stride), 4 * self.width
        y = convolution(g, x, "conv1", self.width, window=1, size=self.size)
        y = _relu(g, _normalised(g, y, "conv1"), "conv1")
        y = convolution(g, y, "conv2", self.width, window=3, size=after)
        y = _relu(g, _normalised(g, y, "conv2"), "conv2")
        y = convolution(g, y, "conv3", outputs, window=1, size=after)
        y = _normalised(g, y, "conv3")
        if self.stride > 1 or self.inputs != outputs:
            x = convolution(g, x, "skip", outputs, window=1, size=after)
            x = _normalised(g, x, "skip")
        return elementwise(
            g, "residual", [y, x], flops=2, kind="residual", backward_flops=1, saves_output=True
        )

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return _maps(g, self.size, self.inputs)


class Pooled(Block):
    channels: int
    size: int
    classes: int

    def build(self, g: Graph, x: Tensor | None) -> None:
        assert x is not None
        sizes = {"images": g.setting.batch.sequences, "channels": self.channels}
        flops = self.size**2
        y = elementwise(
            g,
            "mean",
            [x],
            flops=flops,
            kind="pool",
            backward_flops=flops,
            sizes=sizes,
        )
        (logits,) = linear(g, y, "logits", {"classes": self.classes}, bias=True)
        if g.setting.training:
            cross_entropy(g, logits)

    def input_sizes(self, g: Graph) -> dict[str, int]:
        return _maps(g, self.size, self.channels)
