"""Edge lists of fabrics in YAML, read to a graph whose ranks reach each other."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.unit.test_fabric_files import YAML
from yantra.fabric.graphs.files import read as read_file

FORM = "text"


def seeds() -> list[bytes]:
    return [YAML.encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fabric.yaml"
        path.write_bytes(data)
        return read_file(path).unreached()
