"""Qwen3.5 and 3.6 with experts: Qwen3-Next with experts in every layer"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.qwen2_moe import mixtures
from yantra.workloads.models.hf.qwen3_next import hybrid
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `qwen3_5_moe` config."""
    width = config.size("moe_intermediate_size")
    sizes = decoder.sizes(config, ffn=width)
    return hybrid(config, sizes, mixtures(config, sizes), "each")


PLUGIN = read
