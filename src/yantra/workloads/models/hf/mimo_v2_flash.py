"""MiMo-V2-Flash: windows with sinks and more heads of keys, values narrower than keys"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `mimo_v2_flash` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    layers, heads = sizes["num_layers"], sizes["num_attention_heads"]
    bias = config.flag("attention_bias", False)
    config.skip("sliding_window_size", "attention_chunk_size", "attention_value_scale")
    config.skip(
        "swa_rope_theta", "layernorm_epsilon", "hybrid_block_size", "attention_projection_layout"
    )
    pattern = config.numbers("hybrid_layer_pattern")
    if pattern and len(pattern) != layers:
        problem = f"expected a 0 or 1 for each of the {layers} layers, got {len(pattern)} values"
        raise config.wrong("hybrid_layer_pattern", problem)
    usual = parts.every(6)
    windows = parts.windows(
        config, layers,
        lambda at: (parts.FULL, parts.SLIDING)[pattern[at] > 0] if pattern
        else parts.FULL if at == 0 else usual(at),
    )  # fmt: skip
    width, values = sizes["kv_channels"] or 192, config.size("v_head_dim", default=128)
    full = parts.attention(
        config, sizes, head_dim=width, value_dim=values, qkv_bias=bias,
        sinks=config.flag("add_full_attention_sink_bias", False),
    )  # fmt: skip
    local = parts.attention(
        config, sizes, qkv_bias=bias,
        heads=config.size("swa_num_attention_heads", default=heads),
        kv_heads=config.size("swa_num_key_value_heads", default=2 * sizes["num_query_groups"]),
        head_dim=config.size("swa_head_dim", default=width),
        value_dim=config.size("swa_v_head_dim", default=values),
        sinks=config.flag("add_swa_attention_sink_bias", True),
    )  # fmt: skip
    mixture = parts.routed(config, sizes, router_bias=True)
    return parts.sparse_decoder(
        config, sizes,
        lambda at: full if windows[at] is None else local.replace(window=windows[at]),
        mixture, first_dense=1,
    )  # fmt: skip


PLUGIN = read
