"""Qwen2 and 2.5, dense: Llama with biases on queries, keys and values."""

from __future__ import annotations

from typing import Any

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `qwen2` config."""
    sizes = decoder.sizes(config)
    config.must_be("attention_bias", True, because="queries, keys and values have biases")
    return config.transformer(**sizes, **windows(config, sizes["num_layers"]), qkv_bias=True)


def windows(config: Config, layers: int) -> dict[str, Any]:
    first = config.count("max_window_layers", default=28)
    if not config.flag("use_sliding_window", False):
        config.skip("sliding_window", "layer_types")
        return {}
    types = ("full_attention",) * min(first, layers) + ("sliding_attention",) * (layers - first)
    return decoder.windows(config, layers, types)


PLUGIN = read
