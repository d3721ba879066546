"""InfraGraph: clusters as devices, components and edges, by the package `infragraph`.

`.infragraph.yaml` and `.infragraph.json` are read, `infragraph:NAME` is a blueprint, and our graphs
are written without the package (`writing.py`).

Source: InfraGraph 3.1.0, github.com/keysight/infragraph: its OpenAPI document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.records import Record

if TYPE_CHECKING:
    from yantra.fabric.graphs.graph import Graph

ENDINGS = (".infragraph.yaml", ".infragraph.yml", ".infragraph.json")
PREFIX = "infragraph:"
"""What the name of a blueprint begins with."""
EVERY = "*"
"""In place of a link's name: all links that are not named."""


class LinkSpeed(Record):
    """What is said of a link name beyond the file, or None."""

    bytes_per_ns: float | None = None
    latency_ns: float | None = None


Said = tuple[tuple[str, LinkSpeed], ...]
"""Speeds by the name of the link."""


def is_infragraph(name: str) -> bool:
    return name.startswith(PREFIX) or name.lower().endswith(ENDINGS)


def read(name: str, said: Said = (), where: str | None = None) -> Graph:
    """Return a file's or blueprint's graph.

    `where` is for errors. Raises ConfigError.
    """
    from yantra.fabric.infragraph.reading import read

    return read(name, dict(said), where or name)
