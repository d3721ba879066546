"""Graphs from edge lists (CSV, YAML), GraphML, ns-3's topology files,

by ending: `.csv`, `.yaml`, `.yml`, `.graphml`, `.xml`, `.txt`, `.topo`; `.infragraph.yaml` and
`.json` by the package `infragraph`.
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
    return is_infragraph(name) or paths.splitext(name)[1].lower() in ENDINGS


def read(path: Path, said: Said = (), where: str | None = None) -> Graph:
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
