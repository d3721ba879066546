"""Falcon-H1: attention and Mamba-2 beside each other in every layer"""

from __future__ import annotations

from yantra.workloads.models.blocks.beside import Beside
from yantra.workloads.models.hf import decoder, mamba2, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `falcon_h1` config."""
    sizes = decoder.sizes(config)
    config.skip("num_logits_to_keep", "lm_head_multiplier", "embedding_multiplier")
    config.skip("mlp_multipliers", "key_multiplier", "attention_out_multiplier", "time_step_limit")
    config.skip("attention_in_multiplier", "ssm_multipliers", "ssm_in_multiplier", "layer_types")
    config.skip(
        "ssm_out_multiplier", "mamba_norm_before_gate", "mamba_use_mlp", "mlp_expansion_factor"
    )
    config.skip("attn_layer_indices", "time_step_min", "time_step_max", "time_step_floor")
    config.must_be("projectors_bias", False, because="biases behind the mixers")
    bias = config.flag("attention_bias", False)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    mixer = mamba2.mixer(
        config, sizes["hidden_size"], gated_norm=config.flag("mamba_rms_norm", False)
    )
    both = Beside(parts=(attention, mixer))
    plain = parts.dense(config, sizes, bias=config.flag("mlp_bias", False))
    return parts.decoder(config, sizes, lambda _: both, lambda _: plain)


PLUGIN = read
