"""OLMo 2: norms behind attention and feed-forward, and over all heads of queries and keys"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from yantra.workloads.models.blocks.result_norm_layer import ResultNormLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `olmo2` config."""
    return normed_behind(config, decoder.sizes(config), "whole", lambda _: None)


def normed_behind(
    config: Config,
    sizes: parts.Sizes,
    qk_norm: Literal["head", "whole"],
    window: Callable[[int], int | None],
) -> Model:
    bias = config.flag("attention_bias", False)
    plain = parts.dense(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, qk_norm=qk_norm, window=window(at)
        ),
        lambda _: plain, layer=ResultNormLayer,
    )  # fmt: skip


PLUGIN = read
