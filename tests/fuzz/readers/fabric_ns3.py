"""Topology files of the ns-3 RDMA simulators, read to a graph whose ranks reach each other."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.test_fabric_files import NS3
from yantra.fabric.graphs.files import read as read_file

FORM = "text"


def seeds() -> list[bytes]:
    return [NS3.encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fabric.txt"
        path.write_bytes(data)
        return read_file(path).unreached()
