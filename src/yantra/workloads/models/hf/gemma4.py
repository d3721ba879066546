"""Gemma 4: wider heads where attention is full, whose keys are values, too"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.blocks.two_branch_layer import TwoBranchLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read the language model of a `gemma4` config."""
    sizes = decoder.sizes(config, tied=True)
    bias = config.flag("attention_bias", False)
    config.must_be(
        "num_kv_shared_layers",
        0,
        because="layers that use the keys and values of others are not modelled",
    )
    if not config.has("hidden_size_per_layer_input"):
        problem = "missing, which means tables of embeddings for every layer: not modelled"
        raise config.wrong("hidden_size_per_layer_input", f"{problem}; a model without them has 0")
    config.must_be(
        "hidden_size_per_layer_input",
        0,
        because="tables of embeddings for every layer are not modelled",
    )
    config.must_be(
        "use_bidirectional_attention", None, "vision", False, because="attention without a mask"
    )
    config.skip("final_logit_softcapping", "vocab_size_per_layer_input", "use_double_wide_mlp")
    windows = parts.windows(config, sizes["num_layers"], parts.every(6), default=512)
    layer = _other_layers(config, [at for at, window in enumerate(windows) if window is None])
    kv_heads = config.size(
        "num_global_key_value_heads",
        default=layer.get("num_key_value_heads", sizes["num_query_groups"]),
    )
    wide = config.size("global_head_dim", default=layer.get("head_dim", 512))
    shared = config.flag("attention_k_eq_v", False)
    local = parts.attention(
        config, sizes, head_dim=sizes["kv_channels"] or 256, qkv_bias=bias, out_bias=bias,
        qk_norm="head",
    )  # fmt: skip
    full = parts.attention(
        config, sizes, head_dim=wide, kv_heads=kv_heads if shared else sizes["num_query_groups"],
        qkv_bias=bias, out_bias=bias, qk_norm="head", shared_kv=shared,
    )  # fmt: skip

    def attention(at: int) -> Block:
        return full if windows[at] is None else local.replace(window=windows[at])

    plain = parts.dense(config, sizes)
    config.skip("enable_moe_block", "num_experts", "top_k_experts", "moe_intermediate_size")
    if not config.flag("enable_moe_block", False):
        return parts.decoder(config, sizes, attention, lambda _: plain, layer=SandwichLayer)
    mixture = parts.experts(
        config, config.size("num_experts"), config.size("top_k_experts"),
        config.size("moe_intermediate_size"), router_bias=True,
    )  # fmt: skip
    return parts.decoder(
        config, sizes, attention, lambda _: plain, layer=TwoBranchLayer, mixture=mixture
    )


def _other_layers(config: Config, full: list[int]) -> dict[str, int]:
    given = config.value("per_layer_config", {})
    if not given:
        return {}
    known = {"head_dim", "num_key_value_heads"}
    if isinstance(given, dict) and sorted(map(_number, given)) == full:
        first, *others = given.values()
        if isinstance(first, dict) and first.keys() <= known and all(o == first for o in others):
            return first
    expected = "head_dim and num_key_value_heads, the same for all layers with full attention"
    raise config.wrong("per_layer_config", expected_got(expected, given))


def _number(key: object) -> int:
    return int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 9 else -1


PLUGIN = read
