"""Hunyuan 3: norms of queries and keys, experts beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `hy_v3` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.skip("enable_moe_fp32_combine", "router_scaling_factor", "mlp_bias", "qk_norm")
    config.skip("moe_router_enable_expert_bias", "moe_router_use_sigmoid", "route_norm")
    config.skip("enable_lm_head_fp32", "enable_attention_fp32_softmax", "expert_hidden_dim")
    mixture = parts.routed(config, sizes, router_bias=True)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="head")
    return parts.sparse_decoder(config, sizes, lambda _: attention, mixture, first_dense=1)


PLUGIN = read
