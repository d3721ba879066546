"""Recordings through the command line, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.oracles.small_traces import call, kernel, op

EVENTS = [op(1, "aten::mm", 100, 20), call("cudaLaunchKernel", 105, 4, 5), kernel(120, 9, 5)]
TEXT = json.dumps({"traceEvents": EVENTS}).encode()

FILES = [
    (TEXT.replace(b"aten::mm", b"aten::m\xffm"), 0, ""),
    (TEXT.replace(b'"device": 0', b'"GB/s": -nan'), 0, ""),
    (TEXT.replace(b'"cat"', b'"category"'), 2, "none of its 3 events has a category"),
    (TEXT + TEXT, 2, "holds 2 JSON texts"),
    (b"SQLite format 3\0" + b"StringIds" * 9, 2, "Nsight Systems"),
]


@pytest.mark.parametrize(("data", "status", "said"), FILES, ids=["utf8", "nan", "cat", "two", "db"])
def test_a_recording_is_read_or_refused_and_never_a_bug(
    data: bytes, status: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "trace.json").write_bytes(data)
    command = [sys.executable, "-m", "yantra", "chakra", "convert", "pytorch", "trace.json"]
    ended = subprocess.run(
        [*command, "-o", "job"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, said in ended.stderr) == (status, True), ended.stderr
    assert (tmp_path / "job.0.et").exists() == (status == 0)
