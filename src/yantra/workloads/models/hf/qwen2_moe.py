"""Qwen1.5 and Qwen2 with experts: a shared expert beside them that each token gates"""

from __future__ import annotations

from collections.abc import Callable

from yantra.workloads.models.blocks import Block
from yantra.workloads.models.hf import decoder, parts, qwen2
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `qwen2_moe` config."""
    sizes = decoder.sizes(config)
    layers = sizes["num_layers"]
    windowed = qwen2.windows(config, layers)
    found = windowed.get("window_attn_skip_freq", ()) or (1,) * layers
    width = windowed.get("window_size", 0)
    bias = config.flag("qkv_bias", True)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, window=(width or None) if found[at] else None
        ),
        mixtures(config, sizes),
    )  # fmt: skip


def mixtures(config: Config, sizes: parts.Sizes) -> Callable[[int], Block]:
    step, plain = config.size("decoder_sparse_step", default=1), config.numbers("mlp_only_layers")
    shared = config.count("shared_expert_intermediate_size", default=0)
    mixture = parts.routed(config, sizes, shared_width=shared, shared_gate=shared > 0)
    usual = parts.dense(config, sizes)
    return lambda at: mixture if (at + 1) % step == 0 and at not in plain else usual


PLUGIN = read
