"""The models known by name, one file per family; each ends with `PLUGIN = (model, ...)`.

An entry is the sizes of a transformer, or a model of blocks.
"""

from __future__ import annotations

from yantra.errors import ConfigError, did_you_mean
from yantra.registry import Registry
from yantra.workloads.model import Model
from yantra.workloads.transformer import Transformer

Entry = Transformer | Model

families: Registry[tuple[Entry, ...]] = Registry(
    "family of models", "yantra.workloads.zoo", "yantra.workloads.zoo"
)


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
