"""ERNIE 4.5, dense: Llama with one switch for all biases"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read an `ernie4_5` config."""
    bias = config.flag("use_bias", False)
    config.skip("compression_ratio", "freq_allocation", "fuse_rms_norm", "fuse_swiglu")
    sizes = decoder.sizes(config, tied=True)
    sizes["kv_channels"] = sizes["kv_channels"] or 128
    return config.transformer(**sizes, qkv_bias=bias, attention_output_bias=bias, mlp_bias=bias)


PLUGIN = read
