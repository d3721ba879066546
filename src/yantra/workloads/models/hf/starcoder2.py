"""StarCoder2: GPT-2's layer with rotary positions and grouped queries"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `starcoder2` config."""
    bias = config.flag("use_bias", True)
    config.skip("mlp_type", "norm_type")
    return config.transformer(
        **decoder.sizes(config, tied=True),
        **decoder.window(config),
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=bias,
    )


PLUGIN = read
