"""Qwen3, dense: a norm over each head of queries and keys."""

from __future__ import annotations

from typing import Any

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.qwen2 import windows
from yantra.workloads.models.transformer import Transformer

_HEAD = 128  # where head_dim is not given


def read(config: Config) -> Transformer:
    """Read a `qwen3` config."""
    return config.transformer(**sizes(config))


def sizes(config: Config) -> dict[str, Any]:
    shared = decoder.sizes(config)
    bias = config.flag("attention_bias", False)
    return shared | {
        **windows(config, shared["num_layers"]),
        "kv_channels": shared["kv_channels"] or _HEAD,
        "qkv_bias": bias,
        "attention_output_bias": bias,
        "qk_layernorm": True,
    }


PLUGIN = read
