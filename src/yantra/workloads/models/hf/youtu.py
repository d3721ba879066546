"""Youtu-LLM: latent attention, dense"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `youtu` config."""
    sizes = decoder.sizes(config, tied=True)
    config.skip("embedding_initializer_range")
    attention, plain = parts.latent(config, sizes), parts.dense(config, sizes)
    return parts.decoder(config, sizes, lambda _: attention, lambda _: plain)


PLUGIN = read
