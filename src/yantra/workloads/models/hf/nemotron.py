"""Nemotron-4 and Minitron: no gates in feed-forward, LayerNorm"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `nemotron` config."""
    bias = config.flag("attention_bias", False)
    config.skip("norm_eps")
    return config.transformer(
        **decoder.sizes(config),
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", False),
    )


PLUGIN = read
