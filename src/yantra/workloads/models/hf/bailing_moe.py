"""Ling and Ring, 1.5 and 2.0: experts beside shared ones, dense layers first"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `bailing_moe` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    bias = config.flag("use_bias", False)
    config.skip("use_rmsnorm", "router_dtype", "moe_router_topk_scaling_factor", "score_function")
    config.skip("router_type", "norm_head", "norm_softmax", "embedding_dropout", "output_dropout")
    config.skip("use_sliding_window", "max_window_layers", "sliding_window", "rotary_dim")
    config.skip("moe_router_enable_expert_bias", "multi_gate", "head_dim", "rotary_type")
    config.skip("moe_router_enable_shared_expert", "moe_shared_expert_intermediate_size")
    shared = config.count("num_shared_experts", "n_shared_experts", default=0)
    width = config.size("moe_intermediate_size")
    wide = config.count("moe_shared_expert_intermediate_size", default=width) * shared
    mixture = parts.routed(
        config, sizes, shared_width=wide,
        router_bias=config.flag("moe_router_enable_expert_bias", False),
    )  # fmt: skip
    attention = parts.attention(
        config, sizes, qkv_bias=config.flag("use_qkv_bias", False), out_bias=bias,
        qk_norm="head" if config.flag("use_qk_norm", False) else "none",
    )  # fmt: skip
    return parts.sparse_decoder(config, sizes, lambda _: attention, mixture)


PLUGIN = read
