"""Fabrics in GraphML: read to a graph whose ranks all reach each other."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.test_fabric_files import GRAPHML
from yantra.fabric.graphs.files import read as read_file

FORM = "xml"


def seeds() -> list[bytes]:
    return [GRAPHML.encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fabric.graphml"
        path.write_bytes(data)
        return read_file(path).unreached()
