"""GLM-4.7-Flash: latent attention, and experts beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `glm4_moe_lite` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    mixture = parts.routed(config, sizes, router_bias=True)
    attention = parts.latent(config, sizes)
    return parts.sparse_decoder(config, sizes, lambda _: attention, mixture, first_dense=1)


PLUGIN = read
