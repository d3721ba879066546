"""InternLM3: Llama with a switch for biases on queries, keys and values"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read an `internlm3` config."""
    config.skip("attention_bias", "bias")
    bias = config.flag("bias", config.flag("attention_bias", False))
    return config.transformer(
        **decoder.sizes(config),
        qkv_bias=config.flag("qkv_bias", config.flag("attention_bias", False)),
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", bias),
    )


PLUGIN = read
