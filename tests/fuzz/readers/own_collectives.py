"""Collectives measured on a user's machine, as yantra calibrate --cluster writes them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.collectives.selection import own

FORM = "text"


def seeds() -> list[bytes]:
    row = "all_reduce,node,8,8,30,Ring,LL,4.5,0.8,1e4,0.05,0.2"
    lines = f"  {','.join(own.HEAD)}\n  {row}\n"
    return [
        f"title: t\ncluster: c\nsource: s\ncollectives: |\n{lines}".encode(),
        f"network: []\ncollectives:\n fits: |\n{lines}".encode(),
    ]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "own.yaml"
        path.write_bytes(data)
        return own.load(path)
