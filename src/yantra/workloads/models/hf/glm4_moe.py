"""GLM-4.5 to 4.7: dense layers first, then experts beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `glm4_moe` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    bias, normed = config.flag("attention_bias", False), config.flag("use_qk_norm", False)
    sparse = parts.has_experts(config, sizes["num_layers"], first_dense=1)
    mixture, plain = parts.routed(config, sizes, router_bias=True), parts.dense(config, sizes)
    attention = parts.attention(config, sizes, qkv_bias=bias, qk_norm="head" if normed else "none")
    return parts.decoder(
        config, sizes, lambda _: attention, lambda at: mixture if sparse[at] else plain
    )


PLUGIN = read
