"""Laguna: gated attention with other heads behind windows, experts beside a shared one"""

from __future__ import annotations

from typing import Literal

from yantra.base.errors import expected_got
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    sizes = decoder.sizes(config)
    layers, bias = sizes["num_layers"], config.flag("attention_bias", False)
    heads = config.numbers("num_attention_heads_per_layer")
    heads = heads or (sizes["num_attention_heads"],) * layers
    if len(heads) != layers or min(heads) < 1:
        problem = f"expected a number of heads for each of the {layers} layers"
        raise config.wrong("num_attention_heads_per_layer", problem)
    gating = config.value("gating", True)
    known: dict[object, Literal["heads", "elements"]] = {
        True: "heads", "per-head": "heads", "per-element": "elements", False: "elements",
    }  # fmt: skip
    if not isinstance(gating, bool | str) or gating not in known:
        raise config.wrong("gating", expected_got("true, per-head or per-element", gating))
    config.skip("moe_routed_scaling_factor", "moe_apply_router_weight_on_input", "qkv_bias")
    config.skip(
        "moe_router_logit_softcapping", "moe_router_use_sigmoid", "swa_attention_sink_enabled"
    )
    config.skip("swa_rope_parameters", "decoder_sparse_step", "mlp_only_layers")
    windows = parts.windows(config, layers, lambda _: parts.FULL, default=512)
    shared = config.count("shared_expert_intermediate_size", default=0)
    mixture = parts.routed(config, sizes, shared_width=shared, router_bias=True)
    return parts.sparse_decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, heads=heads[at], qkv_bias=bias, out_bias=bias, qk_norm="head",
            gate=known[gating], window=windows[at],
        ),
        mixture, first_dense=1,
    )  # fmt: skip


PLUGIN = read
