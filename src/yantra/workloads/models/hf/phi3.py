"""Phi-3 and 4: Llama with fused projections, which weigh and cost the same."""

from __future__ import annotations

from yantra.workloads.models.hf import decoder
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `phi3` config."""
    config.must_be("attention_bias", False, because="its projections have no biases")
    return config.transformer(**decoder.sizes(config), **decoder.window(config))


PLUGIN = read
