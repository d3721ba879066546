"""Hunyuan, dense: Llama with norms of queries and keys"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `hunyuan_v1_dense` config."""
    bias = config.flag("attention_bias", False)
    config.skip("eod_token_id", "attention_head_dim", "use_qk_norm")
    return config.transformer(
        **decoder.sizes(config), qkv_bias=bias, attention_output_bias=bias, qk_layernorm=True
    )


PLUGIN = read
