"""Gemma: Llama with wide heads and one weight for embedding and head."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `gemma` config."""
    tied = config.flag("tie_word_embeddings", True)
    bias = config.flag("attention_bias", False)
    config.must_be("use_bidirectional_attention", False, because="attention without a mask")
    return config.transformer(
        **(decoder.sizes(config) | {"tie_word_embeddings": tied}),
        qkv_bias=bias,
        attention_output_bias=bias,
    )


PLUGIN = read
