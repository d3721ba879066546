"""The language model within a config of a model that also sees or hears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.workloads.models.hf.types import LEFT_OUT, SAME, TEXT_OF

_INSIDE = ("text_config", "llm_config", "language_config", "thinker_config")
_TOWERS = ("vision", "vit", "audio", "talker", "code2wav", "speech", "projector", "perceiver")


class Language(NamedTuple):
    """A language model's keys, their place in the file (`text_config.`), and notes."""

    keys: Mapping[str, Any]
    prefix: str = ""
    notes: tuple[str, ...] = ()


def language_of(config: Mapping[str, Any], where: str) -> Language:
    found = next((key for key in _INSIDE if config.get(key) is not None), None)
    if found is None:
        return _beside(config)
    inner = config[found]
    if not isinstance(inner, Mapping):
        raise ConfigError(f"{where}: {found}", expected_got("an object of keys", inner))
    deeper = language_of(inner, f"{where}: {found}")
    keys = dict(deeper.keys)
    outer = config.get("model_type")
    if keys.get("model_type") is None and isinstance(outer, str):
        keys["model_type"] = TEXT_OF.get(outer, outer)
    if not isinstance(keys.get("model_type"), str):
        raise ConfigError(
            f"{where}: {found}.{deeper.prefix}model_type", "missing; expected the type of the text"
        )
    notes = [*deeper.notes, *_left_out(config, found)]
    tied = config.get("tie_word_embeddings")
    if isinstance(tied, bool):
        keys["tie_word_embeddings"] = tied
    if config.get("quantization_config") is not None:
        keys.setdefault("quantization_config", config["quantization_config"])
    if not deeper.prefix:
        notes += _filled(keys)
    return Language(keys, f"{found}.{deeper.prefix}", tuple(notes))


def _beside(config: Mapping[str, Any]) -> Language:
    towers = [key for key in config if _is_tower(key)]
    if not any(isinstance(config[key], Mapping) for key in towers):
        return Language(config)
    rest = {key: value for key, value in config.items() if not _is_of_images(key)}
    return Language(rest, "", tuple(_left_out(config, "")))


def _is_tower(key: str) -> bool:
    return key.endswith("_config") and key.startswith(_TOWERS)


def _is_of_images(key: str) -> bool:
    words = ("image", "video", "vision", "audio")
    return _is_tower(key) or key.startswith(words) or key.endswith(("_token_id", "_token_index"))


def _left_out(config: Mapping[str, Any], found: str) -> list[str]:
    towers = [
        key
        for key, value in config.items()
        if key != found and isinstance(value, Mapping) and _is_tower(key)
    ]
    return [f"the language model alone, without {', '.join(towers)}"] if towers else []


def _filled(keys: dict[str, Any]) -> list[str]:
    kind = keys["model_type"]
    usual = LEFT_OUT.get(SAME.get(kind, kind), {})
    missing = {key: value for key, value in usual.items() if keys.get(key) is None}
    keys.update(missing)
    if not missing:
        return []
    listed = ", ".join(f"{key} {value}" for key, value in missing.items())
    return [f"sizes that are not in the file are those of transformers' {kind}: {listed}"]
