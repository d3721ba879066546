"""Cohere's Command R and R+: one norm for attention and feed-forward beside it"""

from __future__ import annotations

from yantra.workloads.models.blocks.parallel_layer import ParallelLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `cohere` config."""
    sizes = decoder.sizes(config, tied=True)
    bias = config.flag("attention_bias", False)
    config.must_be("use_qk_norm", False, because="norms with a weight for each head")
    config.skip("logit_scale")
    attention = parts.attention(config, sizes, qkv_bias=bias, out_bias=bias)
    plain = parts.dense(config, sizes)
    return parts.decoder(
        config, sizes, lambda _: attention, lambda _: plain,
        layer=ParallelLayer, norm="layer_gain", shared_norm=True,
    )  # fmt: skip


PLUGIN = read
