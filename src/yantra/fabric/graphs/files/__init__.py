"""Graphs from files: edge lists (CSV, YAML), GraphML, topology files of the ns-3 RDMA simulators.

The ending of the name says which: `.csv`, `.yaml` or `.yml`, `.graphml` or `.xml`, `.txt` or
`.topo`.
"""

from __future__ import annotations

from importlib import import_module
from os import path as paths
from typing import TYPE_CHECKING

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph

ENDINGS = {
    ".csv": "csv_edges",
    ".yaml": "yaml_edges",
    ".yml": "yaml_edges",
    ".graphml": "graphml",
    ".xml": "graphml",
    ".txt": "ns3",
    ".topo": "ns3",
}
"""The module that reads files of an ending."""


def is_file(name: str) -> bool:
    """Return whether a name is the path of a graph, by its ending."""
    return paths.splitext(name)[1].lower() in ENDINGS


def read(path: Path) -> Graph:
    """Return the graph in a file. Raises ConfigError with the file, and where in it."""
    name = str(path)
    ending = paths.splitext(name)[1].lower()
    if ending not in ENDINGS:
        raise ConfigError(name, f"expected a file that ends in one of {', '.join(ENDINGS)}")
    text = read_text(path)
    module = import_module(f"{__name__}.{ENDINGS[ending]}")
    graph: Graph = module.parse(text, name)
    return graph
