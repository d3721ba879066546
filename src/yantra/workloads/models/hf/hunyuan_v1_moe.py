"""Hunyuan with experts: A13B, a shared expert beside them in every layer"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `hunyuan_v1_moe` config."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    config.must_be("use_cla", False, because="keys and values shared between layers")
    config.must_be("use_mla", False, because="latent attention is not covered for hunyuan_v1_moe")
    config.skip("cla_share_factor", "eod_token_id", "attention_head_dim", "use_qk_norm")
    config.skip(
        "moe_drop_tokens", "moe_random_routing_dropped_token", "norm_topk_prob", "rope_type"
    )
    config.skip("use_mixed_mlp_moe", "use_rotary_pos_emb", "capacity_factor", "norm_type")
    config.skip(
        "class_num", "pool_type", "skip_cls_token", "routed_scaling_factor", "group_limited"
    )
    config.skip("mask_init_id", "add_classification_head", "dense_list", "n_group", "topk_group")
    config.must_be("moe_layer_num_skipped", 0, because="experts in every layer")
    layers = sizes["num_layers"]
    count = _same(config, "num_experts", layers)
    width = config.value("moe_intermediate_size", sizes["ffn_hidden_size"])
    wide = width if isinstance(width, int) else _same(config, "moe_intermediate_size", layers)
    shared = _same(config, "num_shared_expert", layers, 1)
    mixture = parts.experts(
        config, count, _same(config, "moe_topk", layers, 1), wide, shared_width=shared * wide
    )
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="head")
    return parts.decoder(config, sizes, lambda _: attention, lambda _: mixture)


def _same(config: Config, key: str, layers: int, default: int | None = None) -> int:
    value = config.value(key, default)
    listed = isinstance(value, list) and len(value) >= layers
    one = value[0] if listed and all(other == value[0] for other in value) else value
    if type(one) is not int or one < 1:
        raise config.wrong(key, expected_got("a whole number, the same for every layer", value))
    return one


PLUGIN = read
