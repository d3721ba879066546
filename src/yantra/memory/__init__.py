"""Memory models: how long accesses beyond the device take, and which ranks share a memory."""

from __future__ import annotations

from yantra.base.fields import PluginChoice, PluginField, made
from yantra.base.registry import Registry
from yantra.memory.model import MemoryModel

models: Registry[type[MemoryModel]] = Registry(
    "memory model", "yantra.memory", "yantra.memory_models", base=MemoryModel
)


def model_of(choice: PluginChoice, where: str | None = None) -> MemoryModel:
    return made(models, choice, where)


FIELD = PluginField(models)
"""The field `kind` of a memory, with the options beside it."""
