"""Seed-OSS: Llama with biases on queries, keys and values"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `seed_oss` config."""
    config.skip("residual_dropout")
    return config.transformer(
        **decoder.sizes(config),
        qkv_bias=config.flag("attention_bias", True),
        attention_output_bias=config.flag("attention_out_bias", False),
        mlp_bias=config.flag("mlp_bias", False),
    )


PLUGIN = read
