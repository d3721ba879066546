"""Mamba-2, in the form of Transformers (`num_heads`, `state_size`, `n_groups`)."""

from __future__ import annotations

from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model
from yantra.workloads.models.zoo.mamba2 import mamba2

_TRAINED_AT = 2048  # tokens; a config says no length


def read(config: Config) -> Model:
    """Read a `mamba2` config."""
    hidden = config.size("hidden_size")
    heads = config.size("num_heads", default=128)
    head_dim = config.size("head_dim", default=64)
    inner = config.size("expand", default=2) * hidden
    if heads * head_dim != inner:
        problem = f"expected heads of {head_dim} that make {inner} channels, got {heads}"
        raise config.wrong("num_heads", problem)
    groups = config.size("n_groups", default=8)
    if heads % groups:
        raise config.wrong("n_groups", f"expected a divisor of {heads} heads, got {groups}")
    config.must_be("rms_norm", True, because="a mixer without its norm")
    config.skip("norm_before_gate", "rescale_prenorm_residual", "residual_in_fp32")
    config.skip("time_step_floor", "time_step_limit", "time_step_max", "time_step_min")
    config.skip("time_step_rank", "A_initializer_range", "intermediate_size")
    mixer = Mamba2(
        hidden=hidden,
        heads=heads,
        head_dim=head_dim,
        state=config.size("state_size", default=128),
        groups=groups,
        window=config.size("conv_kernel", default=4),
        chunk=config.size("chunk_size", default=256),
        bias=config.flag("use_bias", False),
        conv_bias=config.flag("use_conv_bias", True),
    )
    layers, vocab = config.layers("num_hidden_layers"), config.size("vocab_size")
    sequence = config.size("max_position_embeddings", default=_TRAINED_AT)
    tied = config.flag("tie_word_embeddings", False)
    config.finish()
    return mamba2(
        config.name, config.where, mixer, layers=layers, vocab=vocab, sequence=sequence, tied=tied
    )


def mixer(config: Config, hidden: int, *, gated_norm: bool = True) -> Mamba2:
    heads = config.size("mamba_n_heads", default=128)
    inner = config.size("mamba_d_ssm", default=config.size("mamba_expand", default=2) * hidden)
    width = config.value("mamba_d_head", "auto")
    if width == "auto":
        width = inner // heads
    if type(width) is not int or width * heads != inner:
        problem = f"expected auto or {heads} heads that make {inner} channels, got {width!r}"
        raise config.wrong("mamba_d_head", problem)
    groups = config.size("mamba_n_groups", default=1)
    if heads % groups:
        raise config.wrong("mamba_n_groups", f"expected a divisor of {heads} heads, got {groups}")
    return Mamba2(
        hidden=hidden,
        heads=heads,
        head_dim=width,
        state=config.size("mamba_d_state", default=256),
        groups=groups,
        window=config.size("mamba_d_conv", default=4),
        chunk=config.size("mamba_chunk_size", default=256),
        bias=config.flag("mamba_proj_bias", False),
        conv_bias=config.flag("mamba_conv_bias", True),
        gated_norm=gated_norm,
    )


PLUGIN = read
