"""Models by name, one file per family; each ends with `PLUGIN = (model, ...)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.registry import Registry
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

Entry = Transformer | Model

_ID = re.compile(r"([\w.-]+/[\w.-]+) config\.json")
_SIZE = re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bmt](?![a-z0-9])")
_TUNED = re.compile(r"-(instruct|chat|base|it)(?=-hf$|-v[0-9.]+$|$)", re.IGNORECASE)


class _Families(Registry[tuple[Entry, ...]]):
    """Plug-ins that are no classes: a model, or several."""

    def __init__(self) -> None:
        super().__init__("family of models", "yantra.workloads.models.zoo", "yantra.workloads.zoo")
        self.expected = "a Model or Transformer, or a tuple of them"

    def fits(self, plugin: object) -> bool:
        models = plugin if isinstance(plugin, tuple | list) else (plugin,)
        return bool(models) and all(isinstance(model, Transformer | Model) for model in models)

    def _checked(self, plugin: Any, place: str, prefix: str = "", expected: str = "") -> Any:
        models = super()._checked(plugin, place, prefix, expected)
        return tuple(models) if isinstance(models, tuple | list) else (models,)


families: Registry[tuple[Entry, ...]] = _Families()


def names() -> tuple[str, ...]:
    return tuple(_known())


def get(name: str, where: str = "model", others: Sequence[str] = ()) -> Entry:
    """Raises ConfigError, with the name of one of these or of `others` that is close."""
    known = _known()
    if name in known:
        return known[name]
    alike = _alike(name, known)
    if len(alike) == 1:
        return known[alike[0]]
    if alike:
        problem = f"'{name}' may be any of {', '.join(alike)}; write one of these"
        raise ConfigError(where, problem)
    owner, slash, _ = name.partition("/")
    if slash and owner not in {other.partition("/")[0] for other in known}:
        raise ConfigError(where, f"no model is named '{name}'{_instead_of_id(name, known)}")
    hint = did_you_mean(name, known) or did_you_mean(name, others)
    every = f"{hint} Known: " if hint else "; expected one of "
    listed = f"{', '.join(known)}, or the path of a config.json"
    raise ConfigError(where, f"no model is named '{name}'{every}{listed}")


def is_known(name: str) -> bool:
    """Whether `get` finds this name."""
    known = _known()
    return name in known or len(_alike(name, known)) == 1


def _instead_of_id(name: str, known: Mapping[str, Entry]) -> str:
    short = _TUNED.sub("", name.rpartition("/")[2])
    sizes = _sizes(short)
    hint = did_you_mean(short, [other for other in known if not sizes or _sizes(other) == sizes])
    listed = "; `yantra workload show` lists the names" if not hint else ""
    other = "For another model, " if hint else ""
    return f"{hint or ';'} {other}download its config.json and give the path{listed}"


def _sizes(name: str) -> list[str]:
    return _SIZE.findall(name.lower())


def _alike(name: str, known: Mapping[str, Entry]) -> list[str]:
    wanted = {_key(name), _key(_TUNED.sub("", name))}
    return [model for model, entry in known.items() if wanted & _keys(model, entry.source)]


def _keys(name: str, source: str) -> set[str]:
    ids = _ID.findall(source)
    return {_key(known) for known in (name, *ids, *(one.rpartition("/")[2] for one in ids))}


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def _known() -> dict[str, Entry]:
    known: dict[str, Entry] = {}
    for family in families.names():
        for model in families.get(family):
            if model.name in known:
                raise ConfigError(f"the family {family}", f"another has '{model.name}' already")
            known[model.name] = model
    return known
