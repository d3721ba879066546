"""GLM-4 9B: Llama with biases on queries, keys and values"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `glm` config."""
    return config.transformer(**decoder.sizes(config), qkv_bias=config.flag("attention_bias", True))


PLUGIN = read
