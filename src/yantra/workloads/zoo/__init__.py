"""The models known by name, one file per family; each ends with `PLUGIN = (model, ...)`."""

from __future__ import annotations

from yantra.errors import ConfigError, did_you_mean
from yantra.registry import Registry
from yantra.workloads.transformer import Transformer

families: Registry[tuple[Transformer, ...]] = Registry(
    "family of models", "yantra.workloads.zoo", "yantra.workloads.zoo"
)


def names() -> tuple[str, ...]:
    """Return the name of every model, family by family."""
    return tuple(_known())


def find(name: str, where: str = "model") -> Transformer:
    """Return the model of a name; `where` is the field that an unknown one is reported at."""
    known = _known()
    if name not in known:
        problem = f"no model is named '{name}'; expected one of {', '.join(known)}"
        raise ConfigError(where, problem + did_you_mean(name, known))
    return known[name]


def _known() -> dict[str, Transformer]:
    known: dict[str, Transformer] = {}
    for family in families.names():
        for model in families.get(family):
            if model.name in known:
                raise ConfigError(f"the family {family}", f"another has '{model.name}' already")
            known[model.name] = model
    return known
