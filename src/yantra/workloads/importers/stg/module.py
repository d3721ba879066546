"""A module: the tensors of one building block, by name, before it is placed in a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.workloads.importers.stg.tensors import Graph


class Module(NamedTuple):
    """Tensors of a block, forward and backward; `source` names it in errors."""

    source: str
    graph: Graph


Library = Callable[[str], Module]
"""Finds a module by name; raises ConfigError."""
