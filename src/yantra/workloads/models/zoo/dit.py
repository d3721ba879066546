"""DiT-XL/2: a diffusion transformer for images of 256 x 256 pixels.

Source: Peebles and Xie, 2023 (arXiv 2212.09748), tables 1 and 4; facebookresearch/DiT.
"""

from __future__ import annotations

from yantra.workloads.models.blocks import MLP, Attention
from yantra.workloads.models.blocks.dit import DiTEmbedding, DiTHead, DiTLayer
from yantra.workloads.models.model import Model

_HIDDEN, _PATCHES, _PIXELS = 1152, (32 // 2) ** 2, 2 * 2 * 4
_LAYER = DiTLayer(
    hidden=_HIDDEN,
    attention=Attention(
        heads=16, kv_heads=16, head_dim=72, qkv_bias=True, out_bias=True, rope=False, causal=False
    ),
    mlp=MLP(intermediate=4 * _HIDDEN, gated=False, bias=True),
)

PLUGIN = (
    Model(
        name="dit-xl/2",
        hidden=_HIDDEN,
        front=DiTEmbedding(patches=_PATCHES, pixels=_PIXELS, hidden=_HIDDEN, classes=1000),
        layers=(_LAYER,) * 28,
        tail=DiTHead(hidden=_HIDDEN, outputs=2 * _PIXELS),
        sequence=_PATCHES,
        source="arXiv 2212.09748, tables 1 and 4",
        fixed_sequence=True,
        notes=("without the autoencoder that makes the latents",),
    ),
)
