"""OLMoE: experts in every layer, norms over all heads together"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `olmoe` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.skip("clip_qkv")
    mixture = parts.routed(config, sizes)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="whole")
    return parts.decoder(config, sizes, lambda _: attention, lambda _: mixture)


PLUGIN = read
