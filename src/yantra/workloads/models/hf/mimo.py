"""MiMo-7B: Qwen2 with another prediction of more tokens"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.qwen2 import windows
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `mimo` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    bias = config.flag("attention_bias", True)
    return config.transformer(**sizes, **windows(config, sizes["num_layers"]), qkv_bias=bias)


PLUGIN = read
