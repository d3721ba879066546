"""FlexOlmo: OLMo 2 with experts in every layer"""

from __future__ import annotations

from yantra.workloads.models.blocks.result_norm_layer import ResultNormLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `flex_olmo` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    mixture = parts.routed(config, sizes)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="whole")
    return parts.decoder(
        config, sizes, lambda _: attention, lambda _: mixture, layer=ResultNormLayer
    )


PLUGIN = read
