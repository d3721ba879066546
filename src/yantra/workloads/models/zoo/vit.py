"""Vision transformers for images of 224 x 224 pixels.

Source: Dosovitskiy et al., "An image is worth 16x16 words", 2021 (arXiv 2010.11929), table 1.
"""

from __future__ import annotations

from yantra.workloads.models.blocks import MLP, Attention, Layer
from yantra.workloads.models.blocks.vit import Classifier, PatchEmbedding
from yantra.workloads.models.model import Model


def vit(
    name: str,
    source: str,
    *,
    layers: int,
    hidden: int,
    heads: int,
    intermediate: int,
    image: int = 224,
    patch: int = 16,
    channels: int = 3,
    classes: int = 1000,
    qkv_bias: bool = True,
) -> Model:
    patches = (image // patch) ** 2
    layer = Layer(
        hidden=hidden,
        attention=Attention(
            heads=heads,
            kv_heads=heads,
            head_dim=hidden // heads,
            qkv_bias=qkv_bias,
            out_bias=True,
            rope=False,
            causal=False,
        ),
        mlp=MLP(intermediate=intermediate, gated=False, bias=True),
        norm="layer",
    )
    return Model(
        name=name,
        hidden=hidden,
        front=PatchEmbedding(patches=patches, pixels=channels * patch**2, hidden=hidden),
        layers=(layer,) * layers,
        tail=Classifier(hidden=hidden, classes=classes),
        sequence=patches + 1,
        source=source,
        fixed_sequence=True,
    )


def _known(size: str, layers: int, hidden: int, heads: int) -> Model:
    name, source = f"vit-{size}/16", "arXiv 2010.11929, table 1"
    return vit(name, source, layers=layers, hidden=hidden, heads=heads, intermediate=4 * hidden)


PLUGIN = (_known("b", 12, 768, 12), _known("l", 24, 1024, 16))
