"""dots.llm1: norms of queries and keys, dense layers first, then experts beside shared ones"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `dots1` config."""
    sizes = decoder.sizes(config)
    layers, bias = sizes["num_layers"], config.flag("attention_bias", False)
    config.skip("max_window_layers", "use_sliding_window")
    windows = parts.windows(config, layers, lambda _: parts.FULL)
    sparse = parts.has_experts(config, layers)
    mixture, plain = parts.routed(config, sizes, router_bias=True), parts.dense(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, qk_norm="head", window=windows[at]
        ),
        lambda at: mixture if sparse[at] else plain,
    )  # fmt: skip


PLUGIN = read
