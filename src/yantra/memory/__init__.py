"""Memory models: how long accesses beyond the device take, and which ranks share a memory."""

from __future__ import annotations

from yantra.errors import ConfigError
from yantra.fields import PluginChoice, PluginField, kind_of, options_of
from yantra.memory.model import MemoryModel
from yantra.registry import Registry

models: Registry[type[MemoryModel]] = Registry(
    "memory model", "yantra.memory", "yantra.memory_models"
)


def find(kind: str | type, where: str | None = None) -> type[MemoryModel]:
    """Return the class of a name, or a class as it is; else ConfigError at the field `where`."""
    where = where or models.kind
    if not isinstance(kind, type):
        return models.get(kind, where)
    if not issubclass(kind, MemoryModel):
        raise ConfigError(where, f"expected a MemoryModel class, got {kind.__name__}")
    return kind


def model_of(choice: PluginChoice, where: str | None = None) -> MemoryModel:
    """Return the model that a scenario chooses, with its options."""
    model = find(kind_of(choice), where)
    return model(options_of(choice, model.options, where or models.kind))


FIELD = PluginField("memory model", models.names, find)
"""The field `kind` of a memory, with the options beside it."""
