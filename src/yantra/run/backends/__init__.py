"""Where a sweep's runs happen, by name; one file each."""

from __future__ import annotations

from yantra.base.registry import Registry
from yantra.run.backends.backend import Backend

__all__ = ["Backend", "backends"]

backends: Registry[type[Backend]] = Registry(
    "sweep backend", "yantra.run.backends", "yantra.sweep_backends", base=Backend
)
