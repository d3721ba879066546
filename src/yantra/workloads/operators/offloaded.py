"""The parts of a layer whose saved tensors may wait in the host's memory, in Megatron-LM's names.

A tensor waits if all whose gradients need it are in named modules: what attention gives is needed
by its core and by `attn_proj`.

Source: Megatron-LM, `--offload-modules` (core/transformer/transformer_config.py).
"""

from __future__ import annotations

from typing import Any

from yantra.workloads.operators.names import NONE, names_in

_QKV = ("qkv", "q", "q_down", "q_up", "kv_down", "kv_up")
_CORE = ("core", "scores", "softmax", "dropout", "context")
_OF_MODULES = {
    "attn_norm": ("attention_norm",),
    "qkv_linear": tuple(f"attention.{one}" for one in _QKV),
    "core_attn": tuple(f"attention.{one}" for one in _CORE),
    "attn_proj": ("attention.proj",),
    "mlp_norm": ("mlp_norm",),
    "expert_fc1": ("moe.experts.up",),
    "moe_act": ("moe.experts.swiglu", "moe.experts.gelu"),
}
_MODULE_OF = {path: module for module, paths in _OF_MODULES.items() for path in paths}
_UNITS = ("layers.", "mtp.")


def offloaded_of(text: Any, field: str = "offload_modules") -> tuple[str, ...]:
    """The modules of a list or a text with commas; `none` is none. Raises ConfigError."""
    return names_in(text, (NONE, *_OF_MODULES), field)


def offload_module(unit: str, name: str) -> str:
    """The module that an operator or operation of a layer is in, empty if none."""
    if not unit.startswith(_UNITS):
        return ""
    return _MODULE_OF.get(name[len(unit) + 1 :], "")
