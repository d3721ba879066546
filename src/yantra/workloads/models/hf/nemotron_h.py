"""Nemotron-H and Nemotron 3: layers of Mamba-2, attention, feed-forward or experts alone"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model

_LETTERS = {"M": parts.LINEAR, "*": parts.FULL, "-": "mlp", "E": "moe"}
_WORDS = {"mamba": parts.LINEAR, parts.LINEAR: parts.LINEAR, "attention": parts.FULL}
_WORDS |= {parts.FULL: parts.FULL, "mlp": "mlp", "moe": "moe"}


def read(config: Config) -> Model:
    """Read a `nemotron_h` config, without multi-token prediction."""
    pattern = config.value("hybrid_override_pattern", "")
    config.skip("num_hidden_layers")
    words = config.words("layers_block_type", "layer_types")
    kinds = _kinds(config, pattern, words)
    sizes = decoder.sizes(config, layers=len(kinds), ffn=0)
    hidden = sizes["hidden_size"]
    bias, plain = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    config.must_be("sliding_window", None, because="it has no windows")
    config.skip("num_logits_to_keep", "residual_in_fp32", "rescale_prenorm_residual", "norm_eps")
    config.skip("time_step_floor", "time_step_max", "time_step_min", "time_step_limit")
    config.skip(
        "time_step_rank", "use_mamba_kernels", "mamba_hidden_act", "mlp_hidden_act", "expand"
    )
    config.skip("mamba_ssm_cache_dtype", "moe_shared_expert_overlap", "mtp_hybrid_override_pattern")
    config.skip("mamba_proj_bias", "moe_latent_size", "moe_shared_expert_intermediate_size")
    config.skip("hybrid_override_pattern", "layers_block_type", "layer_types", "n_shared_experts")
    heads = config.size("mamba_num_heads", default=128)
    groups = config.size("n_groups", "mamba_n_groups", default=8)
    if heads % groups:
        raise config.wrong("n_groups", f"expected a divisor of {heads} heads, got {groups}")
    blocks: dict[str, Block] = {
        parts.LINEAR: Mamba2(
            hidden=hidden, heads=heads,
            head_dim=config.size("mamba_head_dim", default=64),
            state=config.size("ssm_state_size", "mamba_d_state", default=128),
            groups=groups,
            window=config.size("conv_kernel", "mamba_d_conv", default=4),
            chunk=config.size("chunk_size", "mamba_chunk_size", default=128),
            bias=config.flag("use_bias", False),
            conv_bias=config.flag("use_conv_bias", True),
        ),
        parts.FULL: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, rope=False,
            head_dim=config.count("attention_head_dim", default=sizes["kv_channels"] or 128),
        ),
    }  # fmt: skip
    if "mlp" in kinds:
        width = config.size("intermediate_size")
        blocks["mlp"] = parts.dense(config, sizes, width=width, gated=False, bias=plain)
    if "moe" in kinds:
        shared = config.count("moe_shared_expert_intermediate_size", default=0)
        shared *= config.count("n_shared_experts", default=1)
        blocks["moe"] = parts.routed(
            config, sizes, gated=False, router_bias=True, shared_width=shared,
            latent=config.count("moe_latent_size", default=0),
        )  # fmt: skip
    else:
        config.skip("n_group", "topk_group", "n_routed_experts", "num_experts_per_tok")
        config.skip("moe_intermediate_size", "norm_topk_prob", "routed_scaling_factor")
    layers = {kind: SingleLayer(hidden=hidden, block=block) for kind, block in blocks.items()}
    return parts.model(config, sizes, [layers[kind] for kind in kinds])


def _kinds(config: Config, pattern: object, words: tuple[str, ...]) -> tuple[str, ...]:
    if words:
        if not set(words) <= _WORDS.keys():
            expected = f"{', '.join(_WORDS)} for each layer"
            raise config.wrong("layers_block_type", expected_got(expected, list(words)))
        return tuple(_WORDS[word] for word in words)
    if not isinstance(pattern, str) or not pattern or not set(pattern) <= _LETTERS.keys():
        expected = (
            "a letter for each layer: M (Mamba-2), * (attention), - (feed-forward), E (experts)"
        )
        raise config.wrong("hybrid_override_pattern", expected_got(expected, pattern))
    return tuple(_LETTERS[letter] for letter in pattern)


PLUGIN = read
