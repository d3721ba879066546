"""Memory models: how long accesses beyond the device take, and which ranks share a memory."""

from __future__ import annotations

from yantra.fields import PluginChoice, PluginField, kind_of, options_of
from yantra.memory.model import MemoryModel
from yantra.registry import Registry

models: Registry[type[MemoryModel]] = Registry(
    "memory model", "yantra.memory", "yantra.memory_models", base=MemoryModel
)


def find(kind: str | type, where: str | None = None) -> type[MemoryModel]:
    """Return the class of a name, of a file or a class itself; else ConfigError at `where`."""
    return models.get(kind, where)


def model_of(choice: PluginChoice, where: str | None = None) -> MemoryModel:
    """Return the model that a scenario chooses, with its options."""
    model = find(kind_of(choice), where)
    return model(options_of(choice, model.options, where or models.kind))


FIELD = PluginField("memory model", models.names, find, models)
"""The field `kind` of a memory, with the options beside it."""
