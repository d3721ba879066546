"""Qwen3-Next: three layers of linear attention to one of attention, and many experts"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.gated_delta import GatedDelta
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.qwen2_moe import mixtures
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `qwen3_next` config."""
    sizes = decoder.sizes(config)
    return hybrid(config, sizes, mixtures(config, sizes))


def hybrid(
    config: Config,
    sizes: parts.Sizes,
    mlp: Callable[[int], Block],
    modules: Literal["pairs", "each"] = "pairs",
) -> Model:
    interval = config.size("full_attention_interval", default=4)
    usual = parts.every(interval, parts.FULL, parts.LINEAR)
    words = {parts.FULL: parts.FULL, parts.LINEAR: parts.LINEAR}
    kinds = parts.kinds(config, sizes["num_layers"], usual, words)
    bias = config.flag("attention_bias", False)
    gate = "elements" if config.flag("attn_output_gate", True) else "none"
    config.skip("mamba_ssm_dtype", "attn_output_gate", "full_attention_interval")
    attention = parts.attention(
        config, sizes, head_dim=sizes["kv_channels"] or 256, qkv_bias=bias, out_bias=bias,
        qk_norm="head", gate=gate,
    )  # fmt: skip
    heads = config.size("linear_num_value_heads", default=32)
    shared = config.size("linear_num_key_heads", default=16)
    if heads % shared:
        problem = f"expected a divisor of {heads} heads of values, got {shared}"
        raise config.wrong("linear_num_key_heads", problem)
    mixer = GatedDelta(
        heads=heads,
        kv_heads=shared,
        key_dim=config.size("linear_key_head_dim", default=128),
        value_dim=config.size("linear_value_head_dim", default=128),
        window=config.size("linear_conv_kernel_dim", default=4),
        modules=modules,
    )
    return parts.decoder(
        config, sizes, lambda at: attention if kinds[at] == parts.FULL else mixer, mlp
    )


PLUGIN = read
