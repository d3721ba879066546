"""ResNet-50 for images of 224 x 224 pixels.

Source: He et al., 2016 (arXiv 1512.03385), table 1; torchvision for the stride.
"""

from __future__ import annotations

from collections.abc import Iterator

from yantra.workloads.models.blocks.resnet import Bottleneck, Pooled, Stem
from yantra.workloads.models.model import Model

_STAGES = ((3, 64, 56), (4, 128, 28), (6, 256, 14), (3, 512, 7))
"""Bottlenecks, width, and size of output."""


def _bottlenecks() -> Iterator[Bottleneck]:
    inputs, size = 64, 56
    for count, width, after in _STAGES:
        for _ in range(count):
            yield Bottleneck(inputs=inputs, width=width, size=size, stride=size // after)
            inputs, size = 4 * width, after


PLUGIN = (
    Model(
        name="resnet-50",
        hidden=2048,
        front=Stem(image=224, channels=64),
        layers=tuple(_bottlenecks()),
        tail=Pooled(channels=2048, size=7, classes=1000),
        sequence=1,
        source="arXiv 1512.03385, table 1",
        fixed_sequence=True,
        notes=("a sequence is one image",),
    ),
)
