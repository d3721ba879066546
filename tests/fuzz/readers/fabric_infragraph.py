"""Descriptions of InfraGraph, as far as the package `infragraph` is installed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.test_infragraph import EVERY, POD
from yantra.fabric.graphs.files import read as read_file

FORM = "text"


def seeds() -> list[bytes]:
    return [POD.encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pod.infragraph.yaml"
        path.write_bytes(data)
        return read_file(path, EVERY).unreached()
