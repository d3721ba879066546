"""Models from Hugging Face's `config.json`: one file for each `model_type` that is covered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from os import path as paths
from pathlib import Path
from typing import Any

from yantra.base.documents import parse_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.registry import Registry
from yantra.base.trust import Reading
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

Described = Transformer | Model

families: Registry[Callable[[Config], Described]] = Registry(
    "model_type", "yantra.workloads.models.hf", "yantra.workloads.hf"
)


def is_config(path: str | PathLike[str]) -> bool:
    """Return whether a JSON file is a config of this kind, which names its `model_type`."""
    tree = parse_json(read_text(path), str(path))[0]
    return isinstance(tree, dict) and "model_type" in tree


def load(path: str | PathLike[str]) -> Described:
    """Return what a `config.json` describes, or the one in a folder."""
    file = Path(path)
    if paths.isdir(file):
        file /= "config.json"
    tree, warnings = parse_json(read_text(file), str(file))
    if warnings:
        raise ConfigError(str(file), warnings[0].removeprefix(f"{file}: "))
    if not isinstance(tree, dict):
        raise ConfigError(str(file), expected_got("an object of keys", tree))
    with Reading(str(file)):
        return from_config(tree, str(file), "" if file.stem == "config" else file.stem)


def from_config(config: Mapping[str, Any], where: str = "config", name: str = "") -> Described:
    """Return what the keys of a config describe; `where` is what messages call it.

    It is called `name`; without one, as the config says where it was loaded from, or by its type.

    Raises ConfigError for a model_type that is not covered, a key that is missing, unknown or
    wrong, and for what the model has that cannot be built.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str):
        raise ConfigError(
            where, f"needs the key 'model_type', one of {', '.join(families.names())}"
        )
    read = families.get(kind, f"{where}: model_type")
    loaded = config.get("_name_or_path")
    called = loaded.rstrip("/").rpartition("/")[2] if isinstance(loaded, str) else ""
    return read(Config(config, where, name or called or kind))
