"""Mistral: Llama with a sliding window in the first version; Ministral: in some layers"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `mistral` config."""
    sizes = decoder.sizes(config)
    usual = "sliding_attention" if config.has("sliding_window") else "full_attention"
    windows = decoder.windows(config, sizes["num_layers"], (usual,) * sizes["num_layers"])
    return config.transformer(**sizes, **windows)


PLUGIN = read
