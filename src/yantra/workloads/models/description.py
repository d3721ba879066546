"""A transformer from a plain mapping of its sizes, in any program's words."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.models.transformer import MOST_LAYERS, Transformer

ALIASES: Mapping[str, tuple[str, ...]] = {
    "num_layers": ("num_hidden_layers", "n_layer", "num_stacks", "num_blocks"),
    "hidden_size": ("n_embd", "d_model", "dmodel", "hidden"),
    "num_attention_heads": ("n_head", "head", "attn_heads"),
    "num_query_groups": ("num_key_value_heads", "kvhead"),
    "kv_channels": ("head_dim", "attn_size"),
    "ffn_hidden_size": ("intermediate_size", "ffn_dim", "dff", "feedforward"),
    "vocab_size": ("padded_vocab_size", "dvocal", "dvocab"),
    "seq_length": ("sequence_length", "sequence", "seq", "seq_size", "encoder_seq_length"),
    "gated_linear_unit": ("swiglu", "gated"),
    "qkv_bias": ("add_qkv_bias",),
    "qk_layernorm": ("qk_norm",),
    "window_size": ("sliding_window",),
    "num_experts": ("num_local_experts", "n_routed_experts", "num_moe_experts", "experts"),
    "moe_router_topk": ("num_experts_per_tok", "kexperts"),
    "moe_ffn_hidden_size": ("moe_intermediate_size",),
    "moe_shared_expert_intermediate_size": ("shared_expert_intermediate_size",),
    "moe_router_num_groups": ("n_group",),
    "moe_router_group_topk": ("topk_group",),
    "mtp_num_layers": ("num_nextn_predict_layers",),
    "qk_head_dim": ("qk_nope_head_dim",),
    "qk_pos_emb_head_dim": ("qk_rope_head_dim",),
}
"""Foreign names of a field, in lower case."""

_FIELD_OF = {alias: field for field, aliases in ALIASES.items() for alias in aliases} | {
    field: field for field in Transformer.field_names
}
_BIASES = ("qkv_bias", "attention_output_bias", "mlp_bias")
_NORMS = {"rms": "RMSNorm", "rmsnorm": "RMSNorm", "layer": "LayerNorm", "layernorm": "LayerNorm"}


def load(path: str | PathLike[str]) -> Transformer:
    tree = parse_yaml(read_text(path), str(path))
    if not isinstance(tree, dict):
        raise ConfigError(str(path), expected_got("sizes by name, such as num_layers: 32", tree))
    return transformer(tree, str(path), Path(path).stem)


def transformer(sizes: Mapping[str, Any], where: str, name: str) -> Transformer:
    """Raises ConfigError for a name that is unknown or given twice, and for an impossible size."""
    fields, spelling = _fields(sizes, where)
    about = {"name": name, "source": where} | _patterns(fields, spelling, where)
    missing = [field for field in Transformer.field_names if _is_missing(field, about)]
    if missing:
        raise ConfigError(where, f"needs {', '.join(missing)}")
    try:
        return Transformer(**about)
    except ConfigError as error:
        field = error.where.removeprefix(f"{about['name']}.")
        raise ConfigError(f"{where}: {spelling.get(field, field)}", error.problem) from None


def _patterns(fields: Mapping[str, Any], spelling: Mapping[str, str], where: str) -> dict[str, Any]:
    layers = fields.get("num_layers")
    found = dict(fields)
    for field, kinds in _EVERY.items():
        number = found.get(field)
        if type(number) is not int:
            continue
        if number < 1:
            expected = "a list of whole numbers, or of how many layers one is other"
            raise ConfigError(f"{where}: {spelling[field]}", expected_got(expected, number))
        if type(layers) is int and 0 < layers <= MOST_LAYERS:
            found[field] = tuple(kinds(at, number) for at in range(layers))
        else:
            del found[field]  # the number of layers is reported, or missing
    return found


def _has_window(layer: int, number: int) -> int:
    return int((layer + 1) % number != 0)


def _has_experts(layer: int, number: int) -> int:
    return int(layer % number == 0)


_EVERY = {"window_attn_skip_freq": _has_window, "moe_layer_freq": _has_experts}


def fields_of(sizes: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The fields of a transformer in `sizes`; raises as `transformer` does."""
    return _fields(sizes, where)[0]


def _fields(sizes: Mapping[str, Any], where: str) -> tuple[dict[str, Any], dict[str, str]]:
    fields: dict[str, Any] = {}
    spelling: dict[str, str] = {}
    for given, value in sizes.items():
        for field, meant in _meanings(given, value, where):
            if field in fields and fields[field] != meant:
                problem = f"contradicts {spelling[field]}, which says {show(fields[field])}"
                raise ConfigError(f"{where}: {given}", problem)
            fields[field], spelling[field] = meant, given
    _check_types(fields, spelling, where)
    return fields, spelling


def _meanings(given: str, value: Any, where: str) -> list[tuple[str, Any]]:
    key = given.strip().lower().lstrip("-").replace("-", "_")
    if key == "add_bias_linear":
        return [(field, value) for field in _BIASES]
    if key == "untie_embeddings_and_output_weights":
        return [("tie_word_embeddings", not value if isinstance(value, bool) else value)]
    if key not in _FIELD_OF:
        hint = did_you_mean(key, _FIELD_OF)
        raise ConfigError(f"{where}: {given}", f"a transformer has no size of this name{hint}")
    field = _FIELD_OF[key]
    if field == "normalization" and isinstance(value, str):
        value = _NORMS.get(value.lower(), value)
    if isinstance(value, list):
        value = tuple(value)
    return [(field, value)]


def _check_types(fields: Mapping[str, Any], spelling: Mapping[str, str], where: str) -> None:
    for field, value in fields.items():
        kind = Transformer.__annotations__[field]
        expected = ""
        if kind == "bool" and not isinstance(value, bool):
            expected = "true or false"
        elif kind == "str" and not isinstance(value, str):
            expected = "a text"
        elif kind.startswith("Literal") and value not in (words := _words(field)):
            expected = f"one of {', '.join(words)}"
        elif field in _EVERY and type(value) is int:
            continue
        elif kind.startswith("tuple[int") and not _all(value, int):
            expected = "a list of whole numbers"
        elif kind.startswith("tuple[str") and not _all(value, str):
            expected = "a list of texts"
        if expected:
            raise ConfigError(f"{where}: {spelling[field]}", expected_got(expected, value))


def _words(field: str) -> tuple[str, ...]:
    # `ClassVar` is imported only for type checkers where records are made.
    return get_args(get_type_hints(Transformer, localns={"ClassVar": ClassVar})[field])


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, tuple) and all(type(item) is kind for item in value)


def _is_missing(field: str, fields: Mapping[str, Any]) -> bool:
    return field not in fields and not hasattr(Transformer, field)
