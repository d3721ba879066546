"""EXAONE 4: norms behind attention and feed-forward, windows in three of four layers"""

from __future__ import annotations

from yantra.base.errors import expected_got
from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.olmo2 import normed_behind
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read an `exaone4` config."""
    sizes = decoder.sizes(config)
    windows = patterned(config, sizes["num_layers"])
    return normed_behind(config, sizes, "head", lambda at: windows[at])


def patterned(config: Config, layers: int) -> tuple[int | None, ...]:
    pattern = config.value("sliding_window_pattern", 4)
    if not config.has("sliding_window") or not pattern:
        config.skip("layer_types")
        return (None,) * layers
    if isinstance(pattern, str) and pattern and set(pattern) <= {"L", "G"}:
        word = pattern
        return parts.windows(
            config, layers,
            lambda at: parts.SLIDING if word[at % len(word)] == "L" and at < layers - 1
            else parts.FULL,
        )  # fmt: skip
    if type(pattern) is not int or pattern < 1:
        problem = expected_got("letters L and G, or a whole number", pattern)
        raise config.wrong("sliding_window_pattern", problem)
    usual = parts.every(pattern)
    return parts.windows(config, layers, lambda at: usual(at) if at < layers - 1 else parts.FULL)


PLUGIN = read
