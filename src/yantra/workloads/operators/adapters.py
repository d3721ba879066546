"""Targets of low-rank adapters, by their names in Hugging Face.

Source: Hugging Face PEFT, `LoraConfig.target_modules`; Megatron-Bridge, `peft/lora.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean, expected_got

ALL = "all-linear"
EVERY = ("",)
"""All outputs of a product."""
PRODUCTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "qkv": {"q_proj": ("q",), "k_proj": ("k",), "v_proj": ("v",), "linear_qkv": ("q", "k", "v")},
    "q": {"q_proj": ("q",)},
    "q_down": {"q_a_proj": ("q_latent",)},
    "q_up": {"q_b_proj": ("q",)},
    "kv_down": {"kv_a_proj_with_mqa": ("kv_latent", "k_rope")},
    "kv_up": {"kv_b_proj": ("k", "v")},
    "proj": {"o_proj": ("hidden",), "linear_proj": ("hidden",)},
    "gate_up": {"gate_proj": ("gate",), "up_proj": ("up",), "linear_fc1": ("gate", "up")},
    "up": {"up_proj": ("up",), "linear_fc1": ("up",)},
    "down": {"down_proj": ("hidden",), "linear_fc2": ("hidden",)},
    "in": {"in_proj": EVERY},
    "in:pairs": {"in_proj_qkvz": ("qkv", "z"), "in_proj_ba": ("b", "a")},
    "in:each": {
        "in_proj_qkv": ("qkv",), "in_proj_z": ("z",), "in_proj_b": ("b",), "in_proj_a": ("a",),
    },
    "in:lightning": {"qkv_proj": ("q", "k", "v"), "output_gate": ("gate",)},
    "out": {"out_proj": ("hidden",)},
}  # fmt: skip
"""Each product's targets, and the outputs each adapts. A linear-attention mixer has one product
that models cut into other modules: their names follow a colon."""

_SHORT = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj"} | {
    name: f"{name}_proj" for name in ("gate", "up", "down")
}
_FUSED = ("linear_qkv", "linear_proj", "linear_fc1", "linear_fc2")
TARGETS = tuple(dict.fromkeys(name for found in PRODUCTS.values() for name in found))
_EVERY = tuple(name for name in TARGETS if name not in _FUSED)


def targets_of(value: Any) -> tuple[str, ...]:
    """Parse targets such as `q_proj,v_proj`. Raises ConfigError."""
    names = value.replace(",", " ").split() if isinstance(value, str) else []
    known = f"names among {', '.join(TARGETS)}, or {ALL}"
    if not names:
        raise ConfigError("lora_targets", expected_got(known, value))
    if names == [ALL]:
        return _EVERY
    found = tuple(dict.fromkeys(_SHORT.get(name, name) for name in names))
    for name in found:
        if name not in TARGETS:
            hint = did_you_mean(name, TARGETS)
            raise ConfigError("lora_targets", expected_got(known, name) + hint)
    for targets in PRODUCTS.values():
        outputs = [output for name in found for output in targets.get(name, ())]
        if len(outputs) > len(set(outputs)):
            both = " and ".join(name for name in found if name in targets)
            raise ConfigError("lora_targets", f"{both} adapt the same product; give one of them")
    return found
