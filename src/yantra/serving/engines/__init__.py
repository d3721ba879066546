"""Engines that serve models, a file each: whose kernels they run, and what their host takes."""

from __future__ import annotations

from yantra.serving.engines.find import load, names
from yantra.serving.engines.types import Engine, Host

__all__ = ["Engine", "Host", "load", "names"]
