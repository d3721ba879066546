"""What other programs call the sizes of a transformer.

Our names are Megatron-LM's (`transformer.py`); Hugging Face, STG and others have their own word for
most. A name is read with dashes or underscores, with or without dashes in front.

Sources: Hugging Face configurations, STG's command line, Calculon's and AICB's model files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.names import key_of
from yantra.workloads.transformer import Transformer

ALIASES: Mapping[str, tuple[str, ...]] = {
    "num_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_stacks", "num_blocks"),
    "hidden_size": ("d_model", "n_embd", "dmodel", "hidden"),
    "num_attention_heads": ("n_head", "n_heads", "head", "attn_heads"),
    "num_query_groups": ("num_key_value_heads", "n_kv_heads", "kvhead"),
    "kv_channels": ("head_dim", "attn_size"),
    "ffn_hidden_size": ("intermediate_size", "dff", "feedforward"),
    "vocab_size": ("padded_vocab_size", "dvocal"),
    "max_position_embeddings": ("n_positions",),
    "window_size": ("sliding_window",),
    "gated_linear_unit": ("swiglu",),
    "qk_layernorm": ("use_qk_norm",),
    "num_experts": ("num_local_experts", "n_routed_experts", "experts"),
    "moe_router_topk": ("num_experts_per_tok", "kexperts"),
    "moe_ffn_hidden_size": ("moe_intermediate_size",),
    "moe_shared_expert_intermediate_size": ("shared_expert_intermediate_size",),
    "moe_router_num_groups": ("n_group",),
    "moe_router_group_topk": ("topk_group",),
    "qk_head_dim": ("qk_nope_head_dim",),
    "qk_pos_emb_head_dim": ("qk_rope_head_dim",),
}
"""Our name of a field, and what others call it."""

_ELSEWHERE = ("name", "source", "seq_length", "notes")
"""Fields that are given otherwise: the sequence length is one of the job's own words."""

_PER_LAYER = ("moe_layer_freq", "window_attn_skip_freq")
SIZES = tuple(
    field
    for field in Transformer.field_names
    if field not in (*_ELSEWHERE, *_PER_LAYER, "normalization")
)
"""The fields that are numbers or switches."""
SWITCHES = tuple(field for field in SIZES if isinstance(getattr(Transformer, field, 0), bool))
_NAMES = {name: field for field, names in ALIASES.items() for name in names} | {
    field: field for field in (*SIZES, "normalization")
}


def known_names() -> tuple[str, ...]:
    """Return every name of a size, ours first."""
    return tuple(dict.fromkeys((*SIZES, "normalization", *_NAMES)))


def sizes_of(given: Mapping[str, Any], where: str = "model") -> dict[str, Any]:
    """Return the fields of a transformer that are given by any of their names.

    Raises ConfigError for an unknown name and for a field that is given two values.
    """
    fields: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in given.items():
        field = _NAMES.get(key_of(name))
        if field is None:
            hint = did_you_mean(key_of(name), _NAMES)
            raise ConfigError(where, f"no size of a model is named '{name}'{hint}")
        if fields.get(field, value) != value:
            problem = f"contradicts {said[field]}: {show(value)} and {show(fields[field])}"
            raise ConfigError(name, problem)
        wanted = bool if field in SWITCHES else int if field in SIZES else str
        if type(value) is not wanted:
            kinds = {bool: "true or false", int: "a whole number", str: "a word"}
            raise ConfigError(name, expected_got(kinds[wanted], value))
        fields[field] = value
        said.setdefault(field, name)
    return fields


def changed(model: Transformer, given: Mapping[str, Any]) -> Transformer:
    """Return a model with other sizes; what differs by layer is cut, or goes on as its last one."""
    fields = sizes_of(given)
    layers = fields.get("num_layers", model.num_layers)
    for field in _PER_LAYER:
        pattern = getattr(model, field)
        if pattern and layers >= 1:
            fields[field] = (pattern + pattern[-1:] * max(layers - len(pattern), 0))[:layers]
    return model.replace(**fields) if given else model


def custom(given: Mapping[str, Any], sequence: int | None) -> Transformer:
    """Return a model given by its sizes alone."""
    fields = sizes_of(given)
    needed = ("num_layers", "hidden_size", "num_attention_heads", "ffn_hidden_size", "vocab_size")
    missing = [field for field in needed if field not in fields]
    if missing or sequence is None:
        what = ", ".join([*missing, *([] if sequence else ["sequence"])])
        raise ConfigError("model", f"a model of one's own needs {what} too; or name a known model")
    return Transformer(name="custom", source="its sizes", seq_length=sequence, **fields)
