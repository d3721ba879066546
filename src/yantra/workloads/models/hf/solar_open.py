"""Solar Open: experts beside a shared one in every layer"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `solar_open` config."""
    sizes = decoder.sizes(config, ffn=config.size("moe_intermediate_size"))
    sizes["kv_channels"] = sizes["kv_channels"] or 128
    config.must_be("use_qk_norm", False, because="norms of queries and keys")
    mixture = parts.routed(config, sizes, router_bias=True)
    attention = parts.attention(config, sizes, qkv_bias=config.flag("attention_bias", False))
    return parts.sparse_decoder(config, sizes, lambda _: attention, mixture)


PLUGIN = read
