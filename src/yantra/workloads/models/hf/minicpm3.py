"""MiniCPM3: latent attention, dense, factors on what layers give"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    sizes = decoder.sizes(config, tied=True)
    config.skip("scale_emb", "scale_depth", "dim_model_base", "mlp_bias")
    width = max(sizes["hidden_size"] // sizes["num_attention_heads"], 1)
    attention = parts.latent(config, sizes, v_dim=config.size("v_head_dim", default=width))
    plain = parts.dense(config, sizes)
    return parts.decoder(config, sizes, lambda _: attention, lambda _: plain)


PLUGIN = read
