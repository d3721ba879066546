"""Step-3.5 and 3.7-Flash: gated attention, windows in three of four layers, experts"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `step3p5` config, without multi-token prediction."""
    sizes = decoder.sizes(config, kv=config.size("num_attention_groups", default=8))
    layers, bias = sizes["num_layers"], config.flag("attention_bias", False)
    config.skip("query_pre_attn_scalar", "swiglu_limits", "swiglu_limits_shared", "mlp_bias")
    config.skip(
        "moe_router_scaling_factor", "moe_router_activation", "use_moe", "use_moe_router_bias"
    )
    config.skip("norm_expert_weight", "use_head_wise_attn_gate", "use_qk_norm", "zero_centered")
    config.skip("att_impl_type", "max_seq_len", "need_fp32_gate", "rope_theta", "use_rope_layers")
    config.skip("yarn_only_types", "partial_rotary_factors", "sink", "moe_every_n_layer")
    config.skip(
        "sliding_window_pattern",
        "scoring_func",
        "n_shared_experts",
        "num_experts",
        "num_local_experts",
    )
    other = config.value("attention_other_setting", {})
    other = other if isinstance(other, dict) else {}
    heads = config.size(
        "num_sliding_attention_heads",
        default=other.get("num_attention_heads", sizes["num_attention_heads"]),
    )
    groups = other.get("num_attention_groups", sizes["num_query_groups"])
    for key, value in (("num_attention_heads", heads), ("num_attention_groups", groups)):
        if type(value) is not int or value < 1:
            problem = expected_got("a whole number, at least 1", value)
            raise config.wrong(f"attention_other_setting.{key}", problem)
    windows = _windows(config, layers)
    full = parts.attention(
        config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="head", gate="heads"
    )
    width = config.size("moe_intermediate_size", default=1280)
    mixture = parts.experts(
        config,
        config.size("n_routed_experts", "moe_num_experts", "num_experts", default=288),
        config.size("num_experts_per_tok", "moe_top_k", default=8),
        width,
        shared_width=config.size("share_expert_dim", "share_expert_dims", default=width),
        router_bias=True,
    )
    named = _named(config)
    sparse = parts.has_experts(config, layers, first_dense=3)
    plain = parts.dense(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: full if windows[at] is None
        else parts.attention(
            config, sizes, heads=heads, kv_heads=groups, qkv_bias=bias, out_bias=bias,
            qk_norm="head", gate="heads", window=windows[at],
        ),
        lambda at: mixture if (at in named if named else sparse[at]) else plain,
    )  # fmt: skip


def _windows(config: Config, layers: int) -> tuple[int | None, ...]:
    # `layer_types` may go on with the modules that predict more tokens
    given = config.words("layer_types")
    if len(given) > layers:
        words = {parts.SLIDING: True, parts.FULL: False}
        width = config.size("sliding_window")
        return tuple(width if words.get(word) else None for word in given[:layers])
    return parts.windows(config, layers, lambda _: parts.FULL, default=512)


def _named(config: Config) -> frozenset[int]:
    value = config.value("moe_layers_enum", "")
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    try:
        return frozenset(int(word) for word in words if str(word).strip())
    except (TypeError, ValueError):
        raise config.wrong("moe_layers_enum", expected_got("numbers with commas", value)) from None


PLUGIN = read
