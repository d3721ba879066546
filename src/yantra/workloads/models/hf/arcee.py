"""AFM: Llama without gates in its feed-forward"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read an `arcee` config."""
    bias = config.flag("attention_bias", False)
    return config.transformer(
        **decoder.sizes(config),
        gated_linear_unit=False,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", False),
    )


PLUGIN = read
