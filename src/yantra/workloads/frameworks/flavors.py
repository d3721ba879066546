"""Flavors of models that a checkout of TorchTitan defines, from the text of its Python.

Nothing is executed: a flavor is a call with plain values in a mapping of `models/NAME/__init__.py`.

Source: pytorch/torchtitan 0.2, models/*/model/args.py, models/llama4/model/model.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from os import path as paths
from typing import Any

from yantra.workloads.frameworks.hf_starts import text_of

_LLAMA = {"dim": 4096, "n_layers": 32, "n_heads": 32, "multiple_of": 256}
_WORDS = {"llama2": 32_000, "llama3": 128_256, "llama4": 202_048}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "llama2": _LLAMA,
    "llama3": _LLAMA,
    "llama4": _LLAMA | {"moe_args": {}, "interleave_moe_layer_step": 2},
    "qwen3": {"dim": 1024, "n_layers": 28, "n_heads": 16, "n_kv_heads": 8, "head_dim": 128,
              "vocab_size": 151_936, "hidden_dim": 3072, "moe_inter_dim": 768,
              "moe_args": {}, "qk_norm": True},
    "deepseek_v3": {"vocab_size": 102_400, "dim": 2048, "inter_dim": 10_944, "moe_args": {},
                    "moe_inter_dim": 1408, "n_layers": 27, "n_dense_layers": 1, "n_heads": 16,
                    "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                    "v_head_dim": 128, "q_lora_rank": 0},
}  # fmt: skip
_EXPERTS = {"num_experts": 8, "num_shared_experts": 1, "top_k": 1}


def sizes_beside(
    name: str, flavor: str, where: str, files: Mapping[str, str]
) -> dict[str, Any] | None:
    """The sizes of a flavor that Python beside a file defines; None where none does."""
    if name not in _DEFAULTS:
        return None
    places = [f"torchtitan/{kind}/{name}/__init__.py" for kind in ("models", "experiments")]
    if paths.basename(paths.dirname(paths.dirname(paths.abspath(where)))).startswith(name):
        places.insert(0, "../__init__.py")
    for place in places:
        for said in _calls(text_of(place, files) or "", flavor):
            given = {**_DEFAULTS[name], **said}
            made = _of_deepseek(given) if name == "deepseek_v3" else _of_llama(name, given)
            return {field: value for field, value in made.items() if value}
    return None


def _calls(text: str, flavor: str) -> Iterator[dict[str, Any]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError):
        return
    for node in (one for one in ast.walk(tree) if isinstance(one, ast.Dict)):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == flavor:
                said = _given(value)
                if "dim" in said:
                    yield said


def _given(call: ast.AST) -> dict[str, Any]:
    """The plain values of a call by name, and those of calls within."""
    found: dict[str, Any] = {}
    for one in call.keywords if isinstance(call, ast.Call) else ():
        if isinstance(one.value, ast.Constant):
            found[str(one.arg)] = one.value.value
        elif isinstance(one.value, ast.Call):
            found[str(one.arg)] = _given(one.value)
    return found


def _of_llama(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of Llama 2 to 4, whose widths follow from the hidden size, and Qwen 3, which says them."""
    width = given.get("hidden_dim") or _width(given, 1)
    words = given.get("vocab_size") or 0
    made = {
        "num_layers": given["n_layers"],
        "hidden_size": given["dim"],
        "num_attention_heads": given["n_heads"],
        "num_query_groups": given.get("n_kv_heads") or 0,
        "kv_channels": given.get("head_dim"),
        "ffn_hidden_size": width,
        "vocab_size": words if words > 0 else _WORDS[name],
        "seq_length": 2048,
        "qk_layernorm": bool(given.get("qk_norm")) and name == "qwen3",
        "tie_word_embeddings": bool(given.get("enable_weight_tying")),
    }
    layers, step = given["n_layers"], given.get("interleave_moe_layer_step", 1)
    has_experts = given.get("moe_enabled", False) if name == "qwen3" else name == "llama4"
    if not has_experts or step > layers:
        return made
    experts = {**_EXPERTS, **given["moe_args"]}
    if name == "qwen3":
        experts["num_shared_experts"] = given["moe_args"].get("num_shared_experts", 0)
        return made | _experts(experts, given["moe_inter_dim"])
    parts = experts["top_k"] + experts["num_shared_experts"]
    own = _width(given, parts if given.get("auto_scale_hidden_dim", True) else 1)
    placed = [int((layer + 1) % step == 0) for layer in range(layers)]
    return made | _experts(experts, own) | {"moe_layer_freq": [] if all(placed) else placed}


def _width(given: Mapping[str, Any], parts: int) -> int:
    whole = int(2 * 4 * given["dim"] / 3)
    if (factor := given.get("ffn_dim_multiplier")) is not None:
        whole = int(factor * whole)
    step = int(given["multiple_of"])
    return -(-int(whole / parts) // step) * step


def _experts(experts: Mapping[str, Any], width: int) -> dict[str, Any]:
    return {
        "num_experts": experts["num_experts"],
        "moe_router_topk": experts["top_k"],
        "moe_ffn_hidden_size": width,
        "moe_shared_expert_intermediate_size": width * experts["num_shared_experts"],
    }


def _of_deepseek(given: Mapping[str, Any]) -> dict[str, Any]:
    layers, dense = given["n_layers"], given["n_dense_layers"]
    return {
        "num_layers": layers,
        "hidden_size": given["dim"],
        "num_attention_heads": given["n_heads"],
        "num_query_groups": given["n_heads"],
        "ffn_hidden_size": given["inter_dim"],
        "vocab_size": given["vocab_size"],
        "seq_length": 4096,
        "q_lora_rank": given["q_lora_rank"],
        "kv_lora_rank": given["kv_lora_rank"],
        "qk_head_dim": given["qk_nope_head_dim"],
        "qk_pos_emb_head_dim": given["qk_rope_head_dim"],
        "v_head_dim": given["v_head_dim"],
        "moe_layer_freq": [0] * dense + [1] * (layers - dense) if dense else [],
    } | _experts({**_EXPERTS, **given["moe_args"]}, given["moe_inter_dim"])
