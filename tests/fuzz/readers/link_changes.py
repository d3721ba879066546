"""Lists of links of a fabric that fail, return or change their rate, CSV."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.test_fabric_files import CSV
from yantra.fabric.graphs import link_changes
from yantra.fabric.graphs.files import read as read_fabric
from yantra.fabric.graphs.graph import Graph

FORM = "text"


@cache
def _fabric() -> Graph:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fabric.csv"
        path.write_text(CSV)
        return read_fabric(path)


def seeds() -> list[bytes]:
    graph = _fabric()
    ends = graph.name_of(int(graph.links.start[0])), graph.name_of(int(graph.links.end[0]))
    rows = (f"30000,{ends[0]},{ends[1]},0 GB/s\n80000,{ends[0]},{ends[1]},50 GB/s\n",)
    return [f"at_ns,from,to,bandwidth\n{row}".encode() for row in rows]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "changes.csv"
        path.write_bytes(data)
        return link_changes.read(str(path), _fabric())
