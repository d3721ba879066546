"""Kimi Linear: delta attention with a decay per channel, some latent attention"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks.kimi_delta import KimiDelta
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    refuse(config)
    sizes = decoder.sizes(config)
    layers = sizes["num_layers"]
    linear = config.value("linear_attn_config", {})
    if not isinstance(linear, dict):
        raise config.wrong("linear_attn_config", expected_got("an object of keys", linear))
    config.skip("mla_use_nope", "moe_renormalize", "moe_router_activation_func", "use_grouped_topk")
    config.skip("layer_types_source", "linear_head_dim", "linear_num_heads")
    words = {parts.FULL: parts.FULL, parts.LINEAR: parts.LINEAR}
    full = linear.get("full_attn_layers", list(range(5, layers + 1, 4)))
    kinds = parts.kinds(
        config, layers, lambda at: parts.FULL if at + 1 in full else parts.LINEAR, words
    )
    mixer = KimiDelta(
        heads=_size(config, linear, "num_heads", "linear_num_heads", 32),
        head_dim=_size(config, linear, "head_dim", "linear_head_dim", 128),
        window=_size(config, linear, "short_conv_kernel_size", "linear_conv_kernel_dim", 4),
    )
    attention = parts.latent(config, sizes, rope=not config.flag("mla_use_nope", True))
    mixture = parts.routed(config, sizes, router_bias=True)
    return parts.sparse_decoder(
        config, sizes, lambda at: attention if kinds[at] == parts.FULL else mixer, mixture,
        first_dense=1,
    )  # fmt: skip


NOT = "is not modelled"


def refuse(config: Config) -> None:
    """Refuse what Kimi K3 has beyond Kimi Linear."""
    config.must_be(
        "attn_res_block_size", 0, because=f"attention over results of layers before {NOT}"
    )
    config.must_be("routed_expert_hidden_size", 0, because=f"a norm of thin rows {NOT}")
    config.must_be("mla_use_output_gate", False, because=f"a gate behind latent attention {NOT}")


def _size(config: Config, linear: dict[str, object], key: str, other: str, default: int) -> int:
    value = linear.get(key)
    if value is None:
        return config.size(other, default=default)
    if type(value) is not int or value < 1:
        problem = expected_got("a whole number, at least 1", value)
        raise config.wrong(f"linear_attn_config.{key}", problem)
    return value


PLUGIN = read
