"""GPT-2: learned positions, biases, LayerNorm, one weight for embedding and head."""

from __future__ import annotations

from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `gpt2` config."""
    hidden = config.size("n_embd", "hidden_size")
    positions = config.size("n_positions", "max_position_embeddings")
    config.skip(
        *("n_ctx", "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx"),
        *("scale_attn_weights", "summary_activation", "summary_first_dropout"),
        *("summary_proj_to_labels", "summary_type", "summary_use_proj"),
    )
    return config.transformer(
        num_layers=config.layers("n_layer", "num_hidden_layers"),
        hidden_size=hidden,
        num_attention_heads=config.size("n_head", "num_attention_heads"),
        ffn_hidden_size=config.size("n_inner", default=4 * hidden),
        vocab_size=config.size("vocab_size"),
        seq_length=positions,
        rotary=False,
        max_position_embeddings=positions,
        tie_word_embeddings=config.flag("tie_word_embeddings", True),
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=True,
        attention_output_bias=True,
        mlp_bias=True,
    )


PLUGIN = read
