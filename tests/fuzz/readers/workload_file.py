"""Workload files: half of the inputs are a manifest put into a sound archive, half an archive."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.oracles.small_workloads import standard
from yantra.workloads.templates import load

FORM = "json"


def _saved() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "w.yw"
        standard(2, 2, 2, nodes=3).save(path)
        return path.read_bytes()


def seeds() -> list[bytes]:
    whole = _saved()
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        return [archive.read("manifest.json"), whole]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "w.yw"
        path.write_bytes(data if data[:2] == b"PK" else _with_manifest(data))
        workload = load(path)
        return [workload.trace(rank) for rank in range(min(workload.ranks, 4))]


def _with_manifest(manifest: bytes) -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(BytesIO(_saved())) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = manifest if name == "manifest.json" else source.read(name)
            target.writestr(name, content)
    return out.getvalue()
