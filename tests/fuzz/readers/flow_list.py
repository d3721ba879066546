"""Lists of flows, CSV: who sends how much to whom, and when."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.run import flows

FORM = "text"


def seeds() -> list[bytes]:
    return [b"src,dst,bytes,start_ns\n0,1,1000000,0\n2,1,4096,500\n", b"bytes,dst,src\n10,1,0\n"]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "flows.csv"
        path.write_bytes(data)
        return flows.read(str(path))
