"""A module: a building block's tensors, by name, before it is placed in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.workloads.importers.stg.tensors import Graph


class Module(NamedTuple):
    source: str
    graph: Graph


Library = Callable[[str], Module]
"""Finds a module by name; raises ConfigError."""
