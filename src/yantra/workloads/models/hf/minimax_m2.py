"""MiniMax-M2 to M2.7: experts in every layer, norms over all heads together"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `minimax_m2` config."""
    sizes = decoder.sizes(config)
    normed = config.flag("use_qk_norm", True)
    config.must_be("qk_norm_type", "per_layer", because="norms over each head are another model")
    config.must_be("shared_intermediate_size", 0, because="it has no shared experts")
    config.must_be("attention_bias", False, because="its projections have no biases")
    config.must_be("sliding_window", None, because="it has no windows")
    config.must_be(
        "attn_type_list", [1] * sizes["num_layers"], because="linear attention is MiniMax-01's"
    )
    config.skip("rotary_dim", "mtp_transformer_layers", "scoring_func", "layer_types")
    config.skip("layernorm_full_attention_alpha", "layernorm_full_attention_beta")
    mixture = parts.routed(config, sizes, router_bias=config.flag("use_routing_bias", True))
    return parts.decoder(
        config, sizes,
        lambda _: parts.attention(config, sizes, qk_norm="whole" if normed else "none"),
        lambda _: mixture,
    )  # fmt: skip


PLUGIN = read
