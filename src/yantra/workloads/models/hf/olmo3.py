"""OLMo 3: OLMo 2 with windows in three of four layers"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.olmo2 import normed_behind
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `olmo3` config."""
    sizes = decoder.sizes(config)
    windows = parts.windows(config, sizes["num_layers"], parts.every(4), default=4096)
    return normed_behind(config, sizes, "whole", lambda at: windows[at])


PLUGIN = read
