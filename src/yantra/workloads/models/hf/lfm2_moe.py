"""LFM2 with experts behind the first dense layers"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.lfm2 import mixed
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `lfm2_moe` config."""
    sizes = decoder.sizes(config, tied=True)
    sparse = parts.has_experts(config, sizes["num_layers"], first_dense=2)
    bias = config.flag("use_expert_bias", True)
    mixture, plain = parts.routed(config, sizes, router_bias=bias), parts.dense(config, sizes)
    return mixed(config, sizes, lambda at: mixture if sparse[at] else plain)


PLUGIN = read
