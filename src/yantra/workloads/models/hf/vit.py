"""Vision transformers that classify images."""

from __future__ import annotations

from typing import Any

from yantra.base.errors import expected_got
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model
from yantra.workloads.models.zoo.vit import vit

_CLASSES = 2  # where a config names none


def read(config: Config) -> Model:
    """Read a `vit` config."""
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    image = config.size("image_size", default=224)
    patch = config.size("patch_size", default=16)
    for key, part, whole in (
        ("num_attention_heads", heads, hidden),
        ("patch_size", patch, image),
    ):
        if whole % part:
            raise config.wrong(key, f"expected a divisor of {whole}, got {part}")
    config.skip("encoder_stride", "pooler_act", "pooler_output_size")
    sizes: dict[str, Any] = {
        "layers": config.layers("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "intermediate": config.size("intermediate_size"),
        "image": image,
        "patch": patch,
        "channels": config.size("num_channels", default=3),
        "classes": _classes(config),
        "qkv_bias": config.flag("qkv_bias", True),
    }
    config.finish()
    return vit(config.name, config.where, **sizes)


def _classes(config: Config) -> int:
    labels = config.value("id2label", {})
    if not isinstance(labels, dict):
        raise config.wrong("id2label", expected_got("names of classes by number", labels))
    return config.size("num_labels", default=len(labels) or _CLASSES)


PLUGIN = read
