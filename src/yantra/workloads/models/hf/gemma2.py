"""Gemma 2: Gemma with norms on either side, and a window of attention in every other layer."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `gemma2` config."""
    tied = config.flag("tie_word_embeddings", True)
    bias = config.flag("attention_bias", False)
    sizes = decoder.sizes(config) | {"tie_word_embeddings": tied}
    layers = sizes["num_layers"]
    types = tuple(("sliding_attention", "full_attention")[at % 2] for at in range(layers))
    config.must_be("use_bidirectional_attention", False, because="attention without a mask")
    config.skip("attn_logit_softcapping", "final_logit_softcapping", "query_pre_attn_scalar")
    config.skip("cache_implementation")
    return config.transformer(
        **sizes,
        **decoder.windows(config, layers, types),
        residual="sandwich",
        qkv_bias=bias,
        attention_output_bias=bias,
    )


PLUGIN = read
