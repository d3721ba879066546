"""Llama 1 to 3: dense decoders; biases on request."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `llama` config."""
    bias = config.flag("attention_bias", False)
    return config.transformer(
        **decoder.sizes(config),
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", False),
    )


PLUGIN = read
