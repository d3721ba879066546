"""GPT-NeoX and Pythia: attention and feed-forward beside each other, biases, LayerNorm."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `gpt_neox` config."""
    bias = config.flag("attention_bias", True)
    return config.transformer(
        **decoder.sizes(config),
        residual="parallel" if config.flag("use_parallel_residual", True) else "sequential",
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=True,
    )


PLUGIN = read
