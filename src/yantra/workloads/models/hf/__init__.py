"""Models from Hugging Face's `config.json`: one file for each `model_type`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from os import path as paths
from pathlib import Path
from typing import Any

from yantra.base.documents import parse_json, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.plugin_files import split_path
from yantra.base.registry import Registry
from yantra.base.trust import Reading
from yantra.workloads.models.hf.config import Config
from yantra.workloads.models.hf.nested import language_of
from yantra.workloads.models.hf.types import REFUSED, SAME
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

__all__ = ["REFUSED", "SAME", "Described", "families", "from_config", "is_config", "load"]

Described = Transformer | Model

families: Registry[Callable[[Config], Described]] = Registry(
    "model_type", "yantra.workloads.models.hf", "yantra.workloads.hf"
)


_OTHERWISE = "; give the sizes of a transformer by name in a YAML file, or its blocks in Python"


def is_config(path: str | PathLike[str]) -> bool:
    """Whether a JSON file is such a config, with a `model_type`."""
    tree = parse_json(read_text(path), str(path), constants=True)[0]
    return isinstance(tree, dict) and "model_type" in tree


def load(path: str | PathLike[str]) -> Described:
    """What a `config.json` describes; also given its folder."""
    file = Path(path)
    if paths.isdir(file):
        file /= "config.json"
    tree, warnings = parse_json(read_text(file), str(file), constants=True)
    if warnings:
        raise ConfigError(str(file), warnings[0].removeprefix(f"{file}: "))
    if not isinstance(tree, dict):
        raise ConfigError(str(file), expected_got("an object of keys", tree))
    with Reading(str(file)):
        return from_config(tree, str(file), "" if file.stem == "config" else file.stem)


def from_config(config: Mapping[str, Any], where: str = "config", name: str = "") -> Described:
    """What a config's keys describe; `where` names it in messages.

    Raises ConfigError for a model_type not covered, a missing, unknown or wrong key, and what
    cannot be built.
    """
    kind = config.get("model_type")
    if not isinstance(kind, str):
        raise ConfigError(where, "needs the key 'model_type', such as llama")
    if kind in REFUSED:
        raise ConfigError(f"{where}: model_type", f"{kind}: {REFUSED[kind]}")
    inner = language_of(config, where)
    read = _family(inner.keys["model_type"], f"{where}: {inner.prefix}model_type")
    loaded = config.get("_name_or_path")
    called = loaded.rstrip("/").rpartition("/")[2] if isinstance(loaded, str) else ""
    about = Config(inner.keys, where, name or called or kind, inner.prefix)
    about.notes += inner.notes
    return read(about)


def _family(kind: str, where: str) -> Callable[[Config], Described]:
    if kind in REFUSED:
        raise ConfigError(where, f"{kind}: {REFUSED[kind]}")
    known = families.names()
    if kind in known or split_path(kind) is not None:
        return families.get(kind, where)
    if kind in SAME:
        return families.get(SAME[kind])
    near = next((name for name in (*known, *SAME) if _is_misspelt(kind, name)), "")
    hint = f"; did you mean '{near}'?" if near else _OTHERWISE
    raise ConfigError(where, f"'{kind}' is not among the types that are read{hint}")


def _is_misspelt(kind: str, name: str) -> bool:
    # another number is another model
    digits = [character for character in kind if character.isdigit()]
    if digits != [character for character in name if character.isdigit()]:
        return False
    from difflib import SequenceMatcher

    same = sum(block.size for block in SequenceMatcher(None, kind, name).get_matching_blocks())
    return len(kind) + len(name) - 2 * same <= 2
