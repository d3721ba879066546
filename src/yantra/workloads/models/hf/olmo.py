"""OLMo: Llama whose norms have no weights"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `olmo` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.skip("clip_qkv")
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    plain = parts.dense(config, sizes)
    return parts.decoder(config, sizes, lambda _: attention, lambda _: plain, norm="plain")


PLUGIN = read
