"""Mixtral: Mistral with experts in every layer."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `mixtral` config."""
    return config.transformer(
        **decoder.sizes(config),
        **decoder.window(config),
        num_experts=config.size("num_local_experts", "num_experts", default=8),
        moe_router_topk=config.size("num_experts_per_tok", default=2),
    )


PLUGIN = read
