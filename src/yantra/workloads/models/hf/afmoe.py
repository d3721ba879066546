"""Trinity: gated attention, windows in three of four layers, experts, norms on either side"""

from __future__ import annotations

from yantra.workloads.models.blocks.sandwich_layer import SandwichLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `afmoe` config."""
    sizes = decoder.sizes(config)
    layers, bias = sizes["num_layers"], config.flag("attention_bias", False)
    config.skip("mup_enabled", "route_scale", "route_norm", "score_func", "load_balance_coeff")
    config.skip("num_expert_groups", "num_limited_groups", "use_grouped_mm")
    usual = parts.every(config.size("global_attn_every_n_layers", default=4))
    windows = parts.windows(config, layers, usual, default=1024)
    mixture = parts.routed(config, sizes, router_bias=True)
    plain = parts.dense(config, sizes)
    sparse = parts.has_experts(config, layers, first_dense=1)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, head_dim=sizes["kv_channels"] or 128, qkv_bias=bias, out_bias=bias,
            qk_norm="head", gate="elements", window=windows[at], rope=windows[at] is not None,
        ),
        lambda at: mixture if sparse[at] else plain, layer=SandwichLayer,
    )  # fmt: skip


PLUGIN = read
