"""Files of named clusters: a machine with its numbers and their sources, YAML."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.fabric import clusters
from yantra.fabric.clusters import find

FORM = "text"
_FOLDER = Path(find.__file__).parent / "machines"


def seeds() -> list[bytes]:
    return [(_FOLDER / f"{name}.yaml").read_bytes() for name in ("hgx-h100", "tpu-v4")]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.yaml"
        path.write_bytes(data)
        return clusters.load(str(path)).scenario_parts(16)
