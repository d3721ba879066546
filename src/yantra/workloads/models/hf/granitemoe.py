"""Granite 3 with experts in every layer"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.granite import FACTORS
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `granitemoe` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.skip(*FACTORS)
    mixture = parts.routed(
        config, sizes, shared_width=config.count("shared_intermediate_size", default=0)
    )
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    return parts.decoder(config, sizes, lambda _: attention, lambda _: mixture)


PLUGIN = read
