"""Bamba: Mamba-2 and some layers of attention"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, mamba2, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `bamba` config."""
    sizes = decoder.sizes(config)
    config.skip("num_logits_to_keep", "z_loss_coefficient", "time_step_limit", "rope_scaling")
    config.skip("time_step_min", "time_step_max", "time_step_floor", "attn_rotary_emb")
    bias = config.flag("attention_bias", False)
    named = config.numbers("attn_layer_indices")
    words = {parts.FULL: parts.FULL, "attention": parts.FULL}
    words |= {parts.LINEAR: parts.LINEAR, "mamba": parts.LINEAR}
    kinds = parts.kinds(
        config, sizes["num_layers"], lambda at: parts.FULL if at in named else parts.LINEAR, words
    )
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    mixer = mamba2.mixer(config, sizes["hidden_size"])
    plain = parts.dense(config, sizes, bias=config.flag("mlp_bias", False))
    return parts.decoder(
        config, sizes, lambda at: attention if kinds[at] == parts.FULL else mixer, lambda _: plain
    )


PLUGIN = read
