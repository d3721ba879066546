"""Mistral Small 4: latent attention, and experts beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `mistral4` config."""
    sizes = decoder.sizes(config)
    mixture = parts.routed(config, sizes)
    attention = parts.latent(config, sizes)
    return parts.sparse_decoder(config, sizes, lambda _: attention, mixture)


PLUGIN = read
