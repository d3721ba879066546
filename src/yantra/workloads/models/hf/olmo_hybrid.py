"""OLMo Hybrid: three layers of the gated delta rule to one of attention"""

from __future__ import annotations

from yantra.workloads.models.blocks import Layer
from yantra.workloads.models.blocks.gated_delta import GatedDelta
from yantra.workloads.models.blocks.result_norm_layer import ResultNormLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `olmo_hybrid` config."""
    sizes = decoder.sizes(config)
    hidden, heads = sizes["hidden_size"], sizes["num_attention_heads"]
    bias = config.flag("attention_bias", False)
    config.skip("linear_a_log_min", "linear_a_log_max", "linear_dt_min", "linear_dt_max")
    config.skip("linear_dt_init_floor", "linear_allow_neg_eigval", "linear_use_gate")
    shared = config.size("linear_num_key_heads", default=heads)
    values = config.size("linear_num_value_heads", default=heads)
    if values % shared:
        problem = f"expected a divisor of {values} heads of values, got {shared}"
        raise config.wrong("linear_num_key_heads", problem)
    width = config.size("linear_key_head_dim", default=max(3 * hidden // 4 // shared, 1))
    mixer = GatedDelta(
        heads=values, kv_heads=shared, key_dim=width,
        value_dim=config.size("linear_value_head_dim", default=2 * width),
        window=config.size("linear_conv_kernel_dim", default=4), modules="others",
    )  # fmt: skip
    words = {parts.FULL: parts.FULL, parts.LINEAR: parts.LINEAR}
    usual = parts.every(4, parts.FULL, parts.LINEAR)
    kinds = parts.kinds(config, sizes["num_layers"], usual, words)
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="whole")
    plain = parts.dense(config, sizes)
    full = ResultNormLayer(hidden=hidden, attention=attention, mlp=plain)
    linear = Layer(hidden=hidden, attention=mixer, mlp=plain)
    return parts.model(config, sizes, [full if kind == parts.FULL else linear for kind in kinds])


PLUGIN = read
