"""SmolLM3: Llama whose every fourth layer has no positions"""

from __future__ import annotations

from yantra.workloads.models.hf import decoder, parts
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model


def read(config: Config) -> Model:
    """Read a `smollm3` config."""
    sizes = decoder.sizes(config, tied=True)
    layers = sizes["num_layers"]
    interval = config.size("no_rope_layer_interval", default=4)
    rotated = config.numbers("no_rope_layers")
    rotated = rotated or tuple(int((at + 1) % interval != 0) for at in range(layers))
    if len(rotated) != layers:
        problem = f"expected a 0 or 1 for each of the {layers} layers, got {len(rotated)} values"
        raise config.wrong("no_rope_layers", problem)
    bias = config.flag("attention_bias", False)
    config.must_be("use_sliding_window", False, because="windows are not covered for smollm3")
    config.skip("sliding_window", "max_window_layers", "layer_types")
    plain = parts.dense(config, sizes, bias=config.flag("mlp_bias", False))
    return parts.decoder(
        config, sizes,
        lambda at: parts.attention(
            config, sizes, qkv_bias=bias, out_bias=bias, rope=rotated[at] > 0
        ),
        lambda _: plain,
    )  # fmt: skip


PLUGIN = read
