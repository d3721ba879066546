"""DeepSeek-V3 and R1: V2 with a bias per expert that balances the load."""

from __future__ import annotations

from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.deepseek_v2 import sizes
from yantra.workloads.models.transformer import Transformer


def read(config: Config) -> Transformer:
    """Read a `deepseek_v3` config, without multi-token prediction."""
    config.word("topk_method", ("noaux_tc",), "noaux_tc")
    return config.transformer(**sizes(config, in_groups=True), moe_router_enable_expert_bias=True)


PLUGIN = read
