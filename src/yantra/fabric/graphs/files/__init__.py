"""Graphs from files: edge lists (CSV, YAML), GraphML, topology files of the ns-3 RDMA simulators.

The ending of the name says which: `.csv`, `.yaml` or `.yml`, `.graphml` or `.xml`, `.txt` or
`.topo`; `.infragraph.yaml` and `.infragraph.json` are those of the package `infragraph`.
"""

from __future__ import annotations

from importlib import import_module
from os import path as paths
from typing import TYPE_CHECKING

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError
from yantra.fabric import infragraph
from yantra.fabric.infragraph import Said, is_infragraph

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
    """Return whether a name is the path of a graph by its ending, or a blueprint of InfraGraph."""
    return is_infragraph(name) or paths.splitext(name)[1].lower() in ENDINGS


def read(path: Path, said: Said = (), where: str | None = None) -> Graph:
    """Return the graph in a file. Raises ConfigError with the file, and where in it.

    `said` are speeds of links that an InfraGraph does not state, `where` the field that names it.
    """
    name = str(path)
    if is_infragraph(name):
        return infragraph.read(name, said, where)
    ending = paths.splitext(name)[1].lower()
    if ending not in ENDINGS:
        raise ConfigError(name, f"expected a file that ends in one of {', '.join(ENDINGS)}")
    text = read_text(path)
    module = import_module(f"{__name__}.{ENDINGS[ending]}")
    graph: Graph = module.parse(text, name)
    return graph
