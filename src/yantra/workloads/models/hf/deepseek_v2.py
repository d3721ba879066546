"""DeepSeek-V2 and V2-Lite: latent attention, and experts beside some that every token passes."""

from __future__ import annotations

from typing import Any

from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer

_METHODS = ("greedy", "group_limited_greedy")


def read(config: Config) -> Transformer:
    """Read a `deepseek_v2` config."""
    method = config.word("topk_method", _METHODS, "greedy")
    return config.transformer(**sizes(config, in_groups=method == "group_limited_greedy"))


def sizes(config: Config, in_groups: bool) -> dict[str, Any]:
    heads, layers = config.size("num_attention_heads"), config.layers("num_hidden_layers")
    config.must_be("num_key_value_heads", heads, because="every head has its keys and values")
    config.must_be("attention_bias", False, because="its projections have no biases")
    config.must_be("mlp_bias", False, because="its projections have no biases")
    config.must_be("qk_head_dim", _both_heads(config), because="the two parts of a head")
    config.skip("head_dim", "qk_nope_head_dim", "qk_rope_head_dim")
    config.skip("aux_loss_alpha", "ep_size", "norm_topk_prob", "routed_scaling_factor")
    config.skip("scoring_func", "seq_aux")
    return {
        "num_layers": layers,
        "hidden_size": config.size("hidden_size"),
        "num_attention_heads": heads,
        "ffn_hidden_size": config.size("intermediate_size"),
        "vocab_size": config.size("vocab_size"),
        "seq_length": config.size("max_position_embeddings"),
        "tie_word_embeddings": config.flag("tie_word_embeddings", False),
        "q_lora_rank": config.count("q_lora_rank", default=0),
        "kv_lora_rank": config.size("kv_lora_rank"),
        "qk_head_dim": config.size("qk_nope_head_dim"),
        "qk_pos_emb_head_dim": config.size("qk_rope_head_dim"),
        "v_head_dim": config.size("v_head_dim"),
        **_experts(config, layers, in_groups),
    }


def _both_heads(config: Config) -> int:
    return config.size("qk_nope_head_dim") + config.size("qk_rope_head_dim")


def _experts(config: Config, layers: int, in_groups: bool) -> dict[str, Any]:
    dense = min(config.count("first_k_dense_replace", default=0), layers)
    config.must_be("moe_layer_freq", 1, because="every layer after the first dense ones")
    width = config.size("moe_intermediate_size")
    groups = config.size("n_group", default=1)
    chosen = config.size("topk_group", default=groups)
    return {
        "num_experts": config.size("n_routed_experts", "num_experts", "num_local_experts"),
        "moe_router_topk": config.size("num_experts_per_tok"),
        "moe_ffn_hidden_size": width,
        "moe_shared_expert_intermediate_size": width * config.count("n_shared_experts", default=0),
        "moe_layer_freq": (0,) * dense + (1,) * (layers - dense) if dense else (),
        "moe_router_num_groups": groups if in_groups and groups > 1 else 0,
        "moe_router_group_topk": chosen if in_groups and groups > 1 else 0,
    }


PLUGIN = read
