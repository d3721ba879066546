"""Qwen3.5 and 3.6, dense: Qwen3-Next without experts"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.qwen3_next import hybrid
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `qwen3_5` config."""
    sizes = decoder.sizes(config)
    config.skip("mlp_only_layers")
    plain = parts.dense(config, sizes)
    return hybrid(config, sizes, lambda _: plain, "each")


PLUGIN = read
