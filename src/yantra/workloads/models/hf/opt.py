"""OPT: GPT-2's layer with a table of positions that has two rows more than the longest text."""

from __future__ import annotations

from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer

_ROWS_BEFORE_THE_FIRST = 2


def read(config: Config) -> Transformer:
    """opt-350m is built differently and refused."""
    hidden = config.size("hidden_size", "d_model")
    length = config.size("max_position_embeddings")
    config.must_be("do_layer_norm_before", True, because="norms after the residual sum")
    config.must_be("word_embed_proj_dim", hidden, because="a projection after the embedding")
    config.must_be("_remove_final_layer_norm", False, because="no norm before the head")
    config.must_be("layer_norm_elementwise_affine", True, because="norms without weights")
    bias = config.flag("enable_bias", True)
    return config.transformer(
        num_layers=config.layers("num_hidden_layers"),
        hidden_size=hidden,
        num_attention_heads=config.size("num_attention_heads"),
        ffn_hidden_size=config.size("ffn_dim"),
        vocab_size=config.size("vocab_size"),
        seq_length=length,
        rotary=False,
        max_position_embeddings=length + _ROWS_BEFORE_THE_FIRST,
        tie_word_embeddings=config.flag("tie_word_embeddings", True),
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=bias,
        attention_output_bias=bias,
        mlp_bias=bias,
    )


PLUGIN = read
