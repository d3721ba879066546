"""Apertus: no gates in its feed-forward, norms of queries and keys"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read an `apertus` config."""
    bias = config.flag("attention_bias", False)
    config.must_be("qk_norm", True, because="queries and keys without norms")
    config.must_be("post_norm", False, because="norms behind attention and feed-forward")
    config.skip("mlp_bias")
    return config.transformer(
        **decoder.sizes(config),
        gated_linear_unit=False,
        qk_layernorm=True,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=config.flag("mlp_bias", False),
    )


PLUGIN = read
