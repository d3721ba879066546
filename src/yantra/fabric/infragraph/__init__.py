"""InfraGraph: clusters described as devices, components and edges, for the package `infragraph`.

Files that end in `.infragraph.yaml` or `.infragraph.json` are read, `infragraph:NAME` is one of the
package's own blueprints, and a graph of ours is written as such a file (`writing.py`, which needs
no package). What a graph does not say of its links is asked for by the name of the link.

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
    """What is said of the links of one name beyond the file; None where nothing is."""

    bytes_per_ns: float | None = None
    latency_ns: float | None = None


Said = tuple[tuple[str, LinkSpeed], ...]
"""Speeds by the name of the link."""


def is_infragraph(name: str) -> bool:
    """Return whether a name is the path of an InfraGraph file, or a blueprint."""
    return name.startswith(PREFIX) or name.lower().endswith(ENDINGS)


def read(name: str, said: Said = (), where: str | None = None) -> Graph:
    """Return the graph of a file or of a blueprint.

    `where` is the field that names it, at which missing speeds are asked for. Raises ConfigError.
    """
    from yantra.fabric.infragraph.reading import read

    return read(name, dict(said), where or name)
