"""Workloads of SimAI, as AICB writes them: read and made templates."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.workloads.importers.test_simai import TEXT
from yantra.workloads.importers.simai import from_simai

FORM = "text"


def seeds() -> list[bytes]:
    return [TEXT.encode(), TEXT.replace("pp: 2 vpp: 4", "pp: 1 vpp: 8").encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "job.txt"
        path.write_bytes(data)
        return from_simai(str(path)).totals
