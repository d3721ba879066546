"""gpt-oss: experts with biases, sinks, and a window in every other layer"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `gpt_oss` config."""
    sizes = decoder.sizes(config)
    layers, bias = sizes["num_layers"], config.flag("attention_bias", True)
    config.skip("initial_context_length", "swiglu_limit", "swiglu_alpha", "rope_ntk_alpha")
    config.skip("rope_ntk_beta", "rope_scaling_factor", "experts_per_token")
    windows = parts.windows(config, layers, parts.every(2), default=128)
    mixture = parts.experts(
        config,
        config.size("num_local_experts", "num_experts"),
        config.size("num_experts_per_tok", "experts_per_token"),
        sizes["ffn_hidden_size"],
        bias=True,
        router_bias=True,
    )
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, sinks=True, window=windows[at]
        ),
        lambda _: mixture,
    )  # fmt: skip


PLUGIN = read
