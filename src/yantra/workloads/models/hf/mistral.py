"""Mistral: Llama with a sliding window of attention in the first version."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Return the model of a config of type `mistral`."""
    return config.transformer(**decoder.sizes(config), **decoder.window(config))


PLUGIN = read
