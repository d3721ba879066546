"""GLM-4 and 4.1V: norms on either side of attention and feed-forward"""

from __future__ import annotations

from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `glm4` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", True)
    attention = parts.attention(config, sizes, qkv_bias=bias)
    plain = parts.dense(config, sizes)
    return parts.decoder(config, sizes, lambda _: attention, lambda _: plain, layer=SandwichLayer)


PLUGIN = read
