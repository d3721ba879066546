"""Gemma 3: windows in five of six layers, norms on either side and of queries and keys"""

from __future__ import annotations

from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read the language model of a `gemma3` config."""
    sizes = decoder.sizes(config, tied=True)
    bias = config.flag("attention_bias", False)
    config.must_be("use_bidirectional_attention", False, because="attention without a mask")
    config.skip("attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar")
    config.skip("cache_implementation", "rope_local_base_freq")
    usual = parts.every(config.size("sliding_window_pattern", "_sliding_window_pattern", default=6))
    windows = parts.windows(config, sizes["num_layers"], usual, default=4096)
    plain = parts.dense(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, head_dim=sizes["kv_channels"] or 256, qkv_bias=bias, out_bias=bias,
            qk_norm="head", window=windows[at],
        ),
        lambda _: plain, layer=SandwichLayer,
    )  # fmt: skip


PLUGIN = read
