"""Sizes of published checkpoints by their ids, for files that name no more than that.

Trade-off: a dozen families that public launch scripts name; for others their config.json is asked.
Source: the `config.json` of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from yantra.workloads.models.transformer import Transformer

_TUNED = re.compile(
    r"([-_](instruct|chat|base|it|hf|alpha|beta|pt|v\d(\.\d)?|\d{4}|sft|full|dpo|checkpoints))+$",
    re.IGNORECASE,
)
_FIELDS = ("num_layers", "hidden_size", "num_attention_heads", "num_query_groups",
           "ffn_hidden_size", "vocab_size")  # fmt: skip
_TIED = {"tie_word_embeddings": True}
_OPT: Mapping[str, Any] = {
    "normalization": "LayerNorm", "gated_linear_unit": False, "qkv_bias": True,
    "attention_output_bias": True, "mlp_bias": True, "rotary": False,
    "max_position_embeddings": 2050, **_TIED,
}  # fmt: skip
_QWEN2: Mapping[str, Any] = {"qkv_bias": True}
_QWEN3: Mapping[str, Any] = {"qk_layernorm": True, "kv_channels": 128}
_SAME = {
    "meta-llama/Llama-3.1-8B": "llama3-8b",
    "meta-llama/Meta-Llama-3.1-8B": "llama3-8b",
    "meta-llama/Llama-3.1-70B": "llama3-70b",
    "meta-llama/Meta-Llama-3.1-70B": "llama3-70b",
    "meta-llama/Llama-3.3-70B": "llama3-70b",
    "meta-llama/Meta-Llama-3.1-405B": "llama3-405b",
    "deepseek-ai/DeepSeek-R1": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek-v3",
}
"""Of the sizes of a model in the zoo."""
_SIZES: Mapping[str, tuple[tuple[int, ...], Mapping[str, Any]]] = {
    "meta-llama/Llama-3.2-1B": ((16, 2048, 32, 8, 8192, 128256), {"kv_channels": 64, **_TIED}),
    "meta-llama/Llama-3.2-3B": ((28, 3072, 24, 8, 8192, 128256), {"kv_channels": 128, **_TIED}),
    "mistralai/Mistral-7B": ((32, 4096, 32, 8, 14336, 32000), {}),
    "Qwen/Qwen2.5-0.5B": ((24, 896, 14, 2, 4864, 151936), {**_QWEN2, **_TIED}),
    "Qwen/Qwen2.5-1.5B": ((28, 1536, 12, 2, 8960, 151936), {**_QWEN2, **_TIED}),
    "Qwen/Qwen2.5-3B": ((36, 2048, 16, 2, 11008, 151936), {**_QWEN2, **_TIED}),
    "Qwen/Qwen2.5-7B": ((28, 3584, 28, 4, 18944, 152064), _QWEN2),
    "Qwen/Qwen2.5-14B": ((48, 5120, 40, 8, 13824, 152064), _QWEN2),
    "Qwen/Qwen2.5-32B": ((64, 5120, 40, 8, 27648, 152064), _QWEN2),
    "Qwen/Qwen2.5-72B": ((80, 8192, 64, 8, 29568, 152064), _QWEN2),
    "Qwen/Qwen3-0.6B": ((28, 1024, 16, 8, 3072, 151936), {**_QWEN3, **_TIED}),
    "Qwen/Qwen3-1.7B": ((28, 2048, 16, 8, 6144, 151936), {**_QWEN3, **_TIED}),
    "Qwen/Qwen3-4B": ((36, 2560, 32, 8, 9728, 151936), {**_QWEN3, **_TIED}),
    "Qwen/Qwen3-8B": ((36, 4096, 32, 8, 12288, 151936), _QWEN3),
    "Qwen/Qwen3-14B": ((40, 5120, 40, 8, 17408, 151936), _QWEN3),
    "facebook/opt-125m": ((12, 768, 12, 12, 3072, 50272), _OPT),
    "facebook/opt-1.3b": ((24, 2048, 32, 32, 8192, 50272), _OPT),
    "facebook/opt-2.7b": ((32, 2560, 32, 32, 10240, 50272), _OPT),
    "facebook/opt-6.7b": ((32, 4096, 32, 32, 16384, 50272), _OPT),
    "facebook/opt-13b": ((40, 5120, 40, 40, 20480, 50272), _OPT),
    "facebook/opt-30b": ((48, 7168, 56, 56, 28672, 50272), _OPT),
    "facebook/opt-66b": ((64, 9216, 72, 72, 36864, 50272), _OPT),
    "google/gemma-7b": ((28, 3072, 16, 16, 24576, 256000), {"kv_channels": 256, **_TIED}),
    "HuggingFaceTB/SmolLM2-135M": ((30, 576, 9, 3, 1536, 49152), _TIED),
    "HuggingFaceTB/SmolLM2-360M": ((32, 960, 15, 5, 2560, 49152), _TIED),
    "HuggingFaceTB/SmolLM2-1.7B": ((24, 2048, 32, 32, 8192, 49152), _TIED),
    "HuggingFaceTB/SmolLM3-3B": ((36, 2048, 16, 4, 11008, 128256), _TIED),
}


_LIKE = (
    (re.compile(r"^Qwen/Qwen2-(0\.5B|1\.5B|7B|72B)"), r"Qwen/Qwen2.5-\1"),
    (re.compile(r"^deepseek-ai/DeepSeek-R1-Distill-Qwen-"), "Qwen/Qwen2.5-"),
    (re.compile(r"^deepseek-ai/DeepSeek-R1-Distill-Llama-"), "meta-llama/Llama-3.1-"),
    (re.compile(r"SmolLM-"), "SmolLM2-"),
)
"""Ids of the sizes of others."""


def plain(model: str) -> str:
    """The id without what says how it was trained."""
    model = _TUNED.sub("", model)
    for those, others in _LIKE:
        model = those.sub(others, model)
    return model


def sizes_of_id(model: str) -> Transformer | None:
    """The sizes of a checkpoint, None where they are not known."""
    from yantra.workloads.models import zoo

    for name in (model, _SAME.get(model, ""), _SAME.get(plain(model), ""), plain(model)):
        if name and zoo.is_known(name):
            found = zoo.get(name)
            return found if isinstance(found, Transformer) else None
    if plain(model) not in _SIZES:
        return None
    numbers, more = _SIZES[plain(model)]
    sizes: dict[str, Any] = dict(zip(_FIELDS, numbers, strict=True)) | dict(more)
    return Transformer(name=model, source=f"{model} config.json", seq_length=2048, **sizes)
