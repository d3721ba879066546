"""Spreadsheets of STG with their lists of tensors, and models put together of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.workloads.importers.stg import Settings, from_stg

FORM = "text"

_TINY = Path(__file__).resolve().parents[2] / "workloads" / "stg" / "tiny"


def seeds() -> list[bytes]:
    return [(_TINY / name).read_bytes() for name in ("dense.csv", "dense.json", "model.yaml")]


def read(data: bytes) -> object:
    name = "dense.json" if data[:1] == b"{" else "model.yaml"
    if b"," in data[:12]:
        name = "dense.csv"
    with TemporaryDirectory() as folder:
        shutil.copytree(_TINY, folder, dirs_exist_ok=True)
        (Path(folder) / name).write_bytes(data)
        settings = Settings(dp=2, tp=2, num_stacks=1, batch=8)
        return from_stg(settings, assembly=str(Path(folder) / "model.yaml")).totals
