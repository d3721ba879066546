"""What decoders of Llama's kind share: keys of sizes, and windows of attention."""

from __future__ import annotations

from typing import Any

from yantra.base.errors import expected_got
from yantra.workloads.models.hf.config import REQUIRED, Config

_TYPES = {"sliding_attention": 1, "full_attention": 0}


def sizes(
    config: Config, *, tied: bool = False, ffn: Any = REQUIRED, kv: int = 0, layers: int = 0
) -> dict[str, Any]:
    """The sizes under the keys that these families share.

    `tied`, `ffn` and `kv` (heads of keys and values) replace absent keys; `layers` is their number
    if it follows from something else.
    """
    heads = config.size("num_attention_heads")
    return {
        "num_layers": layers or config.layers("num_hidden_layers"),
        "hidden_size": config.size("hidden_size"),
        "num_attention_heads": heads,
        "num_query_groups": config.size("num_key_value_heads", default=kv or heads),
        "kv_channels": config.count("head_dim", default=0),
        "ffn_hidden_size": (config.size if ffn else config.count)("intermediate_size", default=ffn),
        "vocab_size": config.size("vocab_size"),
        "seq_length": config.sequence(),
        "tie_word_embeddings": config.flag("tie_word_embeddings", tied),
    }


def window(config: Config) -> dict[str, Any]:
    return {"window_size": config.count("sliding_window", default=0)}


def windows(config: Config, layers: int, types: tuple[str, ...]) -> dict[str, Any]:
    width = config.count("sliding_window", default=0)
    given = config.words("layer_types") or types
    if len(given) != layers or not set(given) <= _TYPES.keys():
        expected = f"{' or '.join(_TYPES)} for each of the {layers} layers"
        raise config.wrong("layer_types", expected_got(expected, list(given)))
    pattern = tuple(_TYPES[kind] for kind in given)
    if not any(pattern):
        return {}
    if not width:
        raise config.wrong("sliding_window", "layers with sliding attention need it")
    return {"window_size": width, "window_attn_skip_freq": () if all(pattern) else pattern}
