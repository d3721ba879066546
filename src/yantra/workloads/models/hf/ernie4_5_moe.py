"""ERNIE 4.5 with experts: dense layers first, then experts beside shared ones"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `ernie4_5_moe` config."""
    sizes = decoder.sizes(config, tied=True)
    layers = sizes["num_layers"]
    config.must_be("use_bias", False, because="biases are not covered for ernie4_5_moe")
    config.skip("moe_norm_min", "moe_gate", "moe_use_aux_free", "moe_capacity", "moe_group")
    config.skip("compression_ratio", "freq_allocation", "moe_gate_act", "moe_use_hard_gate")
    first = config.count("moe_layer_start_index", default=1)
    last = config.value("moe_layer_end_index", -1)
    end = layers if type(last) is not int or last < 0 else last + 1
    step = config.size("moe_layer_interval", default=1)
    width = config.size("moe_intermediate_size", default=1536)
    shared = config.count("moe_num_shared_experts", "n_shared_experts", default=2)
    mixture = parts.experts(
        config,
        config.size("moe_num_experts", "num_experts", default=64),
        config.size("moe_k", "num_experts_per_tok", default=6),
        width,
        shared_width=shared * width,
        router_bias=True,
    )
    plain = parts.dense(config, sizes)
    sparse = [first <= at < end and (at + 1) % step == 0 for at in range(layers)]
    attention = parts.attention(config, sizes)
    return parts.decoder(
        config, sizes, lambda _: attention, lambda at: mixture if sparse[at] else plain
    )


PLUGIN = read
