"""Model types shaped like another, and those that cannot be built, with the reason.

Sources: the package transformers, 5.24, and the models' own repositories.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SAME: Mapping[str, str] = {
    "bailing_moe_v2": "bailing_moe",
    "cohere2_vision": "cohere2",
    "gemma3_text": "gemma3",
    "gemma4_text": "gemma4",
    "glm4v_moe_text": "glm4_moe",
    "glm4v_text": "glm4",
    "granitemoeshared": "granitemoe",
    "hunyuan": "hunyuan_v1_moe",
    "internlm2": "internlm3",
    "kimi_k2": "deepseek_v3",
    "llama4_text": "llama4",
    "minimax_m1": "minimax",
    "minimax_m3_vl_text": "minimax_m3",
    "minimax_text_01": "minimax",
    "ministral": "mistral",
    "ministral3": "mistral",
    "qwen2_5_omni_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen3_5_moe_text": "qwen3_5_moe",
    "qwen3_5_text": "qwen3_5",
    "qwen3_omni_moe_text": "qwen3_moe",
    "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_vl_text": "qwen3",
    "step3p7": "step3p5",
}
"""The type by which a type is read."""

_ENCODER = "an encoder beside a decoder is not modelled"
_CROSS = "layers that attend to images are not modelled"
_THIN = "heads of queries made by products of products, with one key, are not modelled"
_RECURRENT = "its recurrence is not modelled"

REFUSED: Mapping[str, str] = {
    "axk2": "attention over compressed keys and values is not modelled",
    "bailing_hybrid": "gates behind latent attention are not modelled",
    "bart": _ENCODER,
    "deepseek_v4": (
        "attention over compressed keys and values, and several residual streams in place of one, "
        "are not modelled"
    ),
    "ernie4_5_vl_moe": "experts of their own for images are not modelled",
    "ernie4_5_vl_moe_text": "experts of their own for images are not modelled",
    "falcon": "its attention beside feed-forward with one norm or two is not modelled",
    "gemma3n": (
        "tables of embeddings for every layer, predicted streams, and layers that use the keys and "
        "values of others are not modelled"
    ),
    "gemma3n_text": (
        "tables of embeddings for every layer, predicted streams, and layers that use the keys and "
        "values of others are not modelled"
    ),
    "kimi_k3": (
        "attention over results of layers before, a norm of the rows of experts, and a gate behind "
        "latent attention are not modelled"
    ),
    "longcat_flash": "experts that compute nothing, and two attentions a layer, are not modelled",
    "m2m_100": _ENCODER,
    "marian": _ENCODER,
    "mbart": _ENCODER,
    "mllama": _CROSS,
    "mllama_text_model": _CROSS,
    "mt5": _ENCODER,
    "pegasus": _ENCODER,
    "recurrent_gemma": _RECURRENT,
    "rwkv": _RECURRENT,
    "step3": _THIN,
    "step3_text": _THIN,
    "step3_vl": _THIN,
    "t5": _ENCODER,
    "t5gemma": _ENCODER,
    "t5gemma2": _ENCODER,
    "whisper": _ENCODER,
    "xlstm": _RECURRENT,
    "zamba": "layers that share one attention block are not modelled",
    "zamba2": "layers that share one attention block are not modelled",
}
"""Why a type is not read."""


TEXT_OF: Mapping[str, str] = {
    "aya_vision": "cohere2",
    "internvl": "qwen2",
    "kimi_k25": "deepseek_v3",
    "llava": "llama",
    "llava_next": "llama",
    "llava_onevision": "qwen2",
    "minimax_m3_vl": "minimax_m3",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "smolvlm": "llama",
    "vipllava": "llama",
}
"""The type of a text that does not give it; else it is the config's own."""


def _sizes(*sizes: int | None, **more: int) -> dict[str, Any]:
    names = (
        *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
        *("num_key_value_heads", "vocab_size", "max_position_embeddings"),
    )
    pairs = zip(names, sizes, strict=True)
    return {name: size for name, size in pairs if size is not None} | more


LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "gemma": _sizes(3072, 24576, 28, 16, 16, 256_000, 8192, head_dim=256),
    "gemma2": _sizes(2304, 9216, 26, 8, 4, 256_000, 8192, head_dim=256),
    "gemma3": _sizes(2304, 9216, 26, 8, 4, 262_208, 131_072, head_dim=256),
    "llama": _sizes(4096, 11008, 32, 32, None, 32_000, 2048),
    "mistral": _sizes(4096, 14336, 32, 32, 8, 32_000, 131_072),
    "phi3": _sizes(3072, 8192, 32, 32, None, 32_064, 4096),
    "qwen2": _sizes(4096, 22016, 32, 32, 32, 151_936, 32_768),
    "qwen3": _sizes(4096, 22016, 32, 32, 32, 151_936, 32_768, head_dim=128),
}
"""Sizes that a config within another one omits: Transformers writes such a config without its
class's defaults."""
