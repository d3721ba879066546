"""A user's measured steps, the CSV of yantra calibrate and yantra stack find."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from yantra.accuracy.user_steps import read_steps

FORM = "text"

_TEXT = """model,cluster,plan,seconds,dtype
llama3-8b,hgx-h100,tp=2 dp=4 global_batch=64,3.1,bf16
llama2-7b,hgx-h100,tp=1 dp=8 global_batch=32,2.5,
"""


def seeds() -> list[bytes]:
    return [_TEXT.encode()]


def read(data: bytes) -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "steps.csv"
        path.write_bytes(data)
        return read_steps(path)
