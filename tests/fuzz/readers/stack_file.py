"""Files of stacks: what a framework costs on a machine, YAML."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.fabric import stacks
from yantra.fabric.stacks import find

FORM = "text"
_FOLDER = Path(find.__file__).parent / "files"


def seeds() -> list[bytes]:
    return [(_FOLDER / f"{name}.yaml").read_bytes() for name in ("megatron-2022", "unknown")]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mine.yaml"
        path.write_bytes(data)
        return stacks.load(str(path)).scenario_part()
