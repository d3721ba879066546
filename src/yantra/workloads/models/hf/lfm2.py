"""LFM2: gated short convolutions and some layers of attention"""

from __future__ import annotations

from collections.abc import Callable

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.short_conv import ShortConv
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `lfm2` config."""
    sizes = decoder.sizes(config, tied=True, ffn=config.size("block_ff_dim", default=12288))
    width = sizes["ffn_hidden_size"]
    config.skip("block_ff_dim", "block_auto_adjust_ff_dim", "block_multiple_of")
    config.skip("block_ffn_dim_multiplier")
    if config.flag("block_auto_adjust_ff_dim", True):
        factor, multiple = (
            config.value("block_ffn_dim_multiplier", 1.0),
            config.size("block_multiple_of", default=256),
        )
        if not isinstance(factor, int | float) or isinstance(factor, bool) or not 0 < factor < 100:
            raise config.wrong("block_ffn_dim_multiplier", expected_got("a number", factor))
        width = -(-int(factor * (2 * width // 3)) // multiple) * multiple
    plain = parts.dense(config, sizes, width=width)
    return mixed(config, sizes, lambda _: plain)


def mixed(config: Config, sizes: parts.Sizes, mlp: Callable[[int], Block]) -> Model:
    config.skip(
        "conv_dim", "conv_dim_out", "conv_use_xavier_init", "block_dim", "block_mlp_init_scale"
    )
    config.skip(
        "block_norm_eps", "block_out_init_scale", "block_use_swiglu", "use_pos_enc", "theta"
    )
    config.skip("block_use_xavier_init", "num_heads", "full_attn_idxs", "norm_eps", "tie_embedding")
    named = config.numbers("full_attn_idxs")
    words = {parts.FULL: parts.FULL, "conv": parts.LINEAR, parts.LINEAR: parts.LINEAR}
    kinds = parts.kinds(
        config, sizes["num_layers"],
        lambda at: parts.LINEAR if named and at not in named else parts.FULL, words,
    )  # fmt: skip
    mixer = ShortConv(
        heads=sizes["hidden_size"],
        window=config.size("conv_L_cache", "linear_conv_kernel_dim", default=3),
        bias=config.flag("conv_bias", False),
    )
    attention = parts.attention(config, sizes, qk_norm="head")
    return parts.decoder(
        config, sizes, lambda at: attention if kinds[at] == parts.FULL else mixer, mlp
    )


PLUGIN = read
