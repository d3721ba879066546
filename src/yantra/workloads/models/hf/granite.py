"""Granite 3 and 4, dense: Llama with factors on what layers give"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `granite` config."""
    bias = config.flag("attention_bias", False)
    config.skip(*FACTORS)
    return config.transformer(
        **decoder.sizes(config),
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", False),
    )


FACTORS = (
    *("embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier"),
)


PLUGIN = read
