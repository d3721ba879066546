"""K-EXAONE: windows in three of four layers, experts beside a shared one"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.exaone4 import patterned
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `exaone_moe` config, without multi-token prediction."""
    sizes = decoder.sizes(config)
    windows = patterned(config, sizes["num_layers"])
    mixture = parts.routed(config, sizes, router_bias=True)
    return parts.sparse_decoder(
        config, sizes,
        lambda at: parts.attention(config, sizes, qk_norm="head", window=windows[at]),
        mixture, first_dense=1,
    )  # fmt: skip


PLUGIN = read
