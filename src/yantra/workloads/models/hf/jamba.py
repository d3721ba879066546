"""Jamba: Mamba-1 and one layer of attention in eight, experts in every other layer"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.blocks.mamba1 import Mamba1
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `jamba` config."""
    sizes = decoder.sizes(config)
    hidden = sizes["hidden_size"]
    config.skip("use_mamba_kernels", "use_mambapy", "use_associative_scan", "num_logits_to_keep")
    config.skip("mamba_inner_layernorms", "calc_logits_for_entire_prompt")
    period, offset = _every(config, "attn_layer", 8, 4)
    steps = config.value("mamba_dt_rank", "auto")
    if steps == "auto":
        steps = -(-hidden // 16)
    if type(steps) is not int or steps < 1:
        problem = expected_got("auto or a whole number, at least 1", steps)
        raise config.wrong("mamba_dt_rank", problem)
    mixer = Mamba1(
        hidden=hidden, heads=config.size("mamba_expand", default=2) * hidden,
        state=config.size("mamba_d_state", default=16), steps=steps,
        window=config.size("mamba_d_conv", default=4),
        bias=config.flag("mamba_proj_bias", False), conv_bias=config.flag("mamba_conv_bias", True),
        norms=True,
    )  # fmt: skip
    words = {parts.FULL: parts.FULL, "attention": parts.FULL}
    words |= {parts.LINEAR: parts.LINEAR, "mamba": parts.LINEAR}
    kinds = parts.kinds(
        config, sizes["num_layers"],
        lambda at: parts.FULL if at % period == offset else parts.LINEAR, words,
    )  # fmt: skip
    attention = parts.attention(config, sizes, rope=False)
    often, first = _every(config, "expert_layer", 2, 1)
    count = config.size("num_experts", default=16)
    plain = parts.dense(config, sizes)
    mixture = parts.experts(
        config, count, min(config.size("num_experts_per_tok", default=2), count),
        sizes["ffn_hidden_size"],
    )  # fmt: skip
    sparse = [count > 1 and at % often == first for at in range(sizes["num_layers"])]
    return parts.decoder(
        config, sizes,
        lambda at: attention if kinds[at] == parts.FULL else mixer,
        lambda at: mixture if sparse[at] else plain,
    )  # fmt: skip


def _every(config: Config, what: str, period: int, offset: int) -> tuple[int, int]:
    return (
        config.size(f"{what}_period", default=period),
        config.count(f"{what}_offset", default=offset),
    )


PLUGIN = read
