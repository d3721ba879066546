"""Granite 4: Mamba-2 and some attention, with or without experts"""

from __future__ import annotations

from yantra.workloads.models.blocks import MLP, Block
from yantra.workloads.models.hf import decoder, mamba2, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.granite import FACTORS
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `granitemoehybrid` config."""
    sizes = decoder.sizes(config)
    hidden, bias = sizes["hidden_size"], config.flag("attention_bias", False)
    config.skip(*FACTORS, "position_embedding_type", "time_step_limit", "normalization_function")
    config.skip("init_method", "time_step_min", "time_step_max", "time_step_floor")
    words = {"mamba": parts.LINEAR, parts.LINEAR: parts.LINEAR}
    words |= {"attention": parts.FULL, parts.FULL: parts.FULL}
    kinds = parts.kinds(config, sizes["num_layers"], lambda _: parts.LINEAR, words)
    mixer = mamba2.mixer(config, hidden)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    shared = config.size("shared_intermediate_size", default=1024)
    mlp: Block = MLP(intermediate=shared)
    if config.count("num_local_experts", default=8):
        mlp = parts.routed(config, sizes, shared_width=shared)
    config.skip("num_experts_per_tok")
    return parts.decoder(
        config, sizes, lambda at: attention if kinds[at] == parts.FULL else mixer, lambda _: mlp
    )


PLUGIN = read
