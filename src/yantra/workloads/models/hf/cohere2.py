"""Cohere's Command R7B and A: one norm for attention and feed-forward beside it, windows"""

from __future__ import annotations

from yantra.workloads.models.blocks.parallel_layer import ParallelLayer
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `cohere2` config."""
    sizes = decoder.sizes(config, tied=True)
    bias = config.flag("attention_bias", False)
    config.must_be("use_qk_norm", False, because="norms of queries and keys")
    config.skip("logit_scale", "cache_implementation", "order_of_interleaved_layers")
    config.skip("rotary_pct", "position_embedding_type", "use_embedding_sharing")
    config.skip("use_gated_activation", "use_parallel_block", "use_parallel_embedding")
    usual = parts.every(config.size("sliding_window_pattern", "_sliding_window_pattern", default=4))
    windows = parts.windows(config, sizes["num_layers"], usual, default=4096)
    plain = parts.dense(config, sizes)
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, window=windows[at],
            rope=windows[at] is not None,
        ),
        lambda _: plain, layer=ParallelLayer, norm="layer_gain", shared_norm=True,
    )  # fmt: skip


PLUGIN = read
