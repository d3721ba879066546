"""The models known by name, one file per family; each ends with `PLUGIN = (model, ...)`.

An entry is the sizes of a transformer, or a model of blocks.
"""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.registry import Registry
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer

Entry = Transformer | Model


class _Families(Registry[tuple[Entry, ...]]):
    """Plug-ins that are no classes: a model, or several."""

    def __init__(self) -> None:
        super().__init__("family of models", "yantra.workloads.models.zoo", "yantra.workloads.zoo")
        self.expected = "a Model or Transformer, or a tuple of them"

    def fits(self, plugin: object) -> bool:
        models = plugin if isinstance(plugin, tuple | list) else (plugin,)
        return bool(models) and all(isinstance(model, Transformer | Model) for model in models)

    def _checked(self, plugin: Any, place: str, prefix: str = "", expected: str = "") -> Any:
        """Return the models as a tuple, also a single one."""
        models = super()._checked(plugin, place, prefix, expected)
        return tuple(models) if isinstance(models, tuple | list) else (models,)


families: Registry[tuple[Entry, ...]] = _Families()


def names() -> tuple[str, ...]:
    """Return the name of every model, family by family."""
    return tuple(_known())


def get(name: str, where: str = "model") -> Entry:
    """Return what is known by a name; `where` is the field that an unknown one is reported at."""
    known = _known()
    if name not in known:
        problem = f"no model is named '{name}'; expected one of {', '.join(known)}"
        raise ConfigError(where, problem + did_you_mean(name, known))
    return known[name]


def _known() -> dict[str, Entry]:
    known: dict[str, Entry] = {}
    for family in families.names():
        for model in families.get(family):
            if model.name in known:
                raise ConfigError(f"the family {family}", f"another has '{model.name}' already")
            known[model.name] = model
    return known
