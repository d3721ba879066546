"""Qwen3 with experts: in every layer, or in some."""

from __future__ import annotations

from yantra.workloads.models.hf import parts, qwen3
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `qwen3_moe` config."""
    sizes = qwen3.sizes(config)
    if not config.has("head_dim"):
        # unlike in dense models, it follows from the other sizes
        heads, hidden = sizes["num_attention_heads"], sizes["hidden_size"]
        sizes["kv_channels"] = parts.head_width(config, hidden, heads)
    step = config.size("decoder_sparse_step", default=1)
    dense = config.numbers("mlp_only_layers")
    pattern = tuple(
        int((layer + 1) % step == 0 and layer not in dense) for layer in range(sizes["num_layers"])
    )
    config.must_be("qkv_bias", False, because="attention_bias says it")
    config.must_be("use_qk_norm", True, because="queries and keys have norms")
    config.must_be("shared_expert_intermediate_size", 0, because="it has no shared experts")
    config.skip("norm_topk_prob")
    return config.transformer(
        **sizes,
        num_experts=config.size("num_experts", "num_local_experts"),
        moe_router_topk=config.size("num_experts_per_tok"),
        moe_ffn_hidden_size=config.size("moe_intermediate_size"),
        moe_layer_freq=() if all(pattern) else pattern,
    )


PLUGIN = read
