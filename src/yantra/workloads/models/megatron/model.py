"""The model that Megatron-LM builds from its arguments."""

from __future__ import annotations

import ast
from typing import Any

from yantra.base.errors import ConfigError, expected_got, show
from yantra.workloads.models.megatron.given import Given
from yantra.workloads.models.megatron.tokenizers import words_of
from yantra.workloads.models.transformer import MOST_LAYERS, Transformer

_NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
_ROTARY = ("rope", "yarn", "mrope")


def model(given: Given, name: str) -> Transformer:
    bias = not given.flag("disable-bias-linear")
    layers = _needed(given, "num-layers")
    hidden = _needed(given, "hidden-size")
    norm = given.values.get("normalization", "LayerNorm")
    sizes: dict[str, Any] = {
        "num_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": _needed(given, "num-attention-heads"),
        "ffn_hidden_size": given.number("ffn-hidden-size", _intermediate(given, hidden)),
        "vocab_size": _vocabulary(given),
        "seq_length": _needed(given, "seq-length"),
        "normalization": _NORMS.get(norm.lower(), norm),
        "gated_linear_unit": _is_gated(given),
        "qkv_bias": bias or given.flag("add-qkv-bias"),
        "attention_output_bias": bias,
        "mlp_bias": bias,
        "qk_layernorm": given.flag("qk-layernorm"),
        "tie_word_embeddings": not given.flag("untie-embeddings-and-output-weights"),
        "mtp_num_layers": given.number("mtp-num-layers"),
    } | _positions(given)
    if sizes["normalization"] not in ("LayerNorm", "RMSNorm"):
        raise given.wrong(
            "normalization", expected_got("LayerNorm or RMSNorm", sizes["normalization"])
        )
    sizes |= _latent(given, bias) if given.flag("multi-latent-attention") else _heads(given, sizes)
    sizes |= _window(given, layers) | _experts(given, layers)
    try:
        return Transformer(name=name, source=given.where, notes=given.notes, **sizes)
    except ConfigError as error:
        field = error.where.removeprefix(f"{name}.")
        raise given.wrong(field.replace("_", "-"), error.problem) from None


def _needed(given: Given, name: str) -> int:
    if name not in given.values:
        raise ConfigError(given.where, f"needs --{name}")
    return given.number(name)


def _is_gated(given: Given) -> bool:
    return given.flag("swiglu") or given.flag("quick-geglu")


def _intermediate(given: Given, hidden: int) -> int:
    return 8 * hidden // 192 * 64 if given.flag("swiglu") else 4 * hidden


def _vocabulary(given: Given) -> int:
    if given.flag("padded-vocab-size"):
        return given.number("padded-vocab-size")
    words = given.number("vocab-size") if given.flag("vocab-size") else words_of(given)
    if not words:
        raise ConfigError(
            given.where,
            "needs --vocab-size or --padded-vocab-size, which Megatron-LM asks its tokenizer for",
        )
    step = given.number("make-vocab-size-divisible-by", 128)
    step *= given.number("tensor-model-parallel-size", 1)
    if step < 1:
        raise given.wrong("make-vocab-size-divisible-by", expected_got("at least 1", step))
    return -(-words // step) * step


def _positions(given: Given) -> dict[str, Any]:
    kind = given.values.get("position-embedding-type", "learned_absolute")
    if given.flag("use-rotary-position-embeddings"):
        kind = "rope"
    if given.flag("no-position-embedding"):
        kind = "none"
    if kind not in (*_ROTARY, "none", "learned_absolute"):
        expected = f"one of learned_absolute, {', '.join(_ROTARY)}, none"
        raise given.wrong("position-embedding-type", expected_got(expected, kind))
    rows = _needed(given, "max-position-embeddings") if kind == "learned_absolute" else 0
    return {"rotary": kind in _ROTARY, "max_position_embeddings": rows}


def _heads(given: Given, sizes: dict[str, Any]) -> dict[str, Any]:
    grouped = given.flag("group-query-attention")
    if given.flag("num-query-groups") and not grouped:
        raise given.wrong(
            "num-query-groups",
            "without --group-query-attention Megatron-LM gives every head its own; give both",
        )
    if sizes["qk_layernorm"] and sizes["normalization"] != "RMSNorm":
        raise given.wrong("qk-layernorm", "norms of queries and keys with biases are not covered")
    return {
        "kv_channels": given.number("kv-channels"),
        "num_query_groups": given.number("num-query-groups", 1) if grouped else 0,
    }


def _latent(given: Given, bias: bool) -> dict[str, Any]:
    if given.flag("group-query-attention"):
        raise given.wrong("group-query-attention", "excludes --multi-latent-attention")
    if bias or not given.flag("qk-layernorm") or given.values.get("normalization") != "RMSNorm":
        raise given.wrong(
            "multi-latent-attention",
            "covered with --qk-layernorm, --normalization RMSNorm and --disable-bias-linear",
        )
    return {
        "qk_layernorm": False,
        "q_lora_rank": given.number("q-lora-rank"),
        "kv_lora_rank": given.number("kv-lora-rank", 32),
        "qk_head_dim": given.number("qk-head-dim", 128),
        "qk_pos_emb_head_dim": given.number("qk-pos-emb-head-dim", 64),
        "v_head_dim": given.number("v-head-dim", 128),
    }


def _window(given: Given, layers: int) -> dict[str, Any]:
    if not given.flag("window-size"):
        return {}
    text = given.values["window-size"]
    sides = [side.strip() for side in text.strip("()").split(",")]
    if len(sides) != 2 or not sides[0].isdecimal() or sides[1] != "0":
        raise given.wrong("window-size", expected_got("(keys before, 0)", text))
    window = {"window_size": int(sides[0]) + 1}
    frequency = given.values.get("window-attn-skip-freq")
    if frequency is None:
        return window
    pattern = _pattern(given, "window-attn-skip-freq", layers)
    if isinstance(pattern, int):
        pattern = tuple(int(layer % pattern != 0) for layer in range(1, layers + 1))
    return window | {"window_attn_skip_freq": pattern}


def _experts(given: Given, layers: int) -> dict[str, Any]:
    if not given.flag("num-experts"):
        return {}
    pattern: tuple[int, ...] | int = ()
    if given.flag("moe-layer-freq"):
        pattern = _pattern(given, "moe-layer-freq", layers)
        if isinstance(pattern, int):
            pattern = tuple(int(layer % pattern == 0) for layer in range(layers))
    return {
        "num_experts": given.number("num-experts"),
        "moe_router_topk": given.number("moe-router-topk", 2),
        "moe_ffn_hidden_size": given.number("moe-ffn-hidden-size"),
        "moe_shared_expert_intermediate_size": given.number("moe-shared-expert-intermediate-size"),
        "moe_layer_freq": () if isinstance(pattern, tuple) and all(pattern) else pattern,
        "moe_router_num_groups": given.number("moe-router-num-groups"),
        "moe_router_group_topk": given.number("moe-router-group-topk"),
        "moe_router_enable_expert_bias": given.flag("moe-router-enable-expert-bias"),
    }


def _pattern(given: Given, name: str, layers: int) -> tuple[int, ...] | int:
    text = given.values[name]
    try:
        found = _evaluated(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        found = 0
    if isinstance(found, int) and found > 0:
        return found
    if isinstance(found, list) and len(found) == layers:
        return tuple(found)
    expected = f"a frequency or a list for the {layers} layers such as [0]*3+[1]*{layers - 3}"
    raise given.wrong(name, f"expected {expected}, got {show(text)}")


def _evaluated(node: ast.expr) -> list[int] | int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.List):
        items = [_evaluated(item) for item in node.elts]
        return [item for item in items if isinstance(item, int)]
    if isinstance(node, ast.BinOp):
        left, right = _evaluated(node.left), _evaluated(node.right)
        if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
            return left + right
        if isinstance(node.op, ast.Mult):
            if isinstance(left, int):
                left, right = right, left
            if isinstance(left, list) and isinstance(right, int):
                return left * min(right, MOST_LAYERS // max(len(left), 1) + 1)
    raise ValueError("not a pattern")
