"""Phi-3.5-MoE: experts in every layer, LayerNorm"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `phimoe` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.must_be("lm_head_bias", False, True, because="a truth value")
    config.skip("input_jitter_noise")
    head_bias = config.flag("lm_head_bias", False)
    width = config.count("sliding_window", default=0)
    mixture = parts.routed(config, sizes)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, window=width or None)
    made = parts.decoder(config, sizes, lambda _: attention, lambda _: mixture, norm="layer")
    return made.replace(tail=made.tail.replace(bias=head_bias))


PLUGIN = read
