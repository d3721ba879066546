"""Files of 30 other kinds and 40 broken ones at every door of a recording: refused with what they
are, never with a traceback, never read with a silent loss.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import sqlite3
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, host_trace, kernel, node, op
from tests.unit.test_other_formats import REFUSED
from yantra.cli import main

DATA = Path(__file__).parents[1] / "golden" / "data" / "profiles"
Captured = pytest.CaptureFixture[str]

DOORS = {
    "run": ["run", "--cluster", "mi300x", "FILE"],
    "stats": ["chakra", "stats", "FILE"],
    "link": ["chakra", "link", "-q", "-o", "linked.json", "--device", "FILE"],
    "convert": ["chakra", "convert", "pytorch", "FILE", "-o", "job"],
    "profile": ["chakra", "convert", "profile", "FILE", "-o", "job"],
    "timeline": ["chakra", "timeline", "FILE", "-o", "t.json"],
    "validate": ["chakra", "validate", "FILE"],
    "look": ["trace", "look", "FILE"],
    "why": ["trace", "why", "FILE"],
}
EVENTS = [op(1, "aten::mm", 100, 20), call("cudaLaunchKernel", 105, 4, 5), kernel(120, 9, 5)]
DEVICE = json.dumps({"traceEvents": EVENTS}).encode()
HOST = json.dumps(host_trace(node(3, "aten::mm", 2))).encode()
NSYS = DATA / "nsys_b" / "nsys_b.sqlite"
ROCPD = DATA / "rocpd_b" / "rocpd_b.db"
XPLANE = DATA / "dp_mlp" / "dp_mlp.xplane.pb"


def _events(change: Callable[[dict[str, Any]], Any]) -> bytes:
    return json.dumps({"traceEvents": [change(dict(one)) for one in EVENTS]}).encode()


def _zip(name: str, content: bytes) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr(name, content)
    return made.getvalue()


def _table(*columns: str) -> bytes:
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({', '.join(columns)})")
    base.execute("CREATE TABLE StringIds (id INT, value TEXT)")
    return base.serialize()


OTHERS: dict[str, bytes] = {name: content for name, (content, _, _) in REFUSED.items()} | {
    "notebook.ipynb": json.dumps({"cells": [], "nbformat": 4}).encode(),
    "page.html": b"<!doctype html><title>report</title>",
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "program.elf": b"\x7fELF\2\1\1" + bytes(60),
    "weights.safetensors": (72).to_bytes(8, "little") + b'{"w":{"dtype":"F32"}}'.ljust(72),
    "table.parquet": b"PAR1" + bytes(30) + b"PAR1",
    "model.onnx": b"\x08\x08\x12\x07pytorch\x1a\x052.1.0",
    "trace.zip": _zip("trace.json", DEVICE),
    "trace.bz2": bz2.compress(DEVICE),
    "trace.xz": lzma.compress(DEVICE),
}

BROKEN: dict[str, bytes] = {
    "empty.json": b"",
    "blank.json": b" \n\t\n",
    "bom.json": b"\xef\xbb\xbf",
    "zeros": bytes(4096),
    "noise": bytes(range(256)) * 40,
    "cut.json": DEVICE[:-30],
    "cut-early.json": DEVICE[:25],
    "cut-host.json": HOST[: len(HOST) // 2],
    "cut.json.gz": gzip.compress(DEVICE)[:-9],
    "head-of-gzip.gz": gzip.compress(DEVICE)[:12],
    "only-magic.gz": b"\x1f\x8b",
    "wrong-sum.gz": gzip.compress(DEVICE)[:-8] + bytes(8),
    "wrong-length.gz": gzip.compress(DEVICE)[:-4] + b"\1\1\1\1",
    "flipped.gz": (lambda one: one[:40] + bytes([one[40] ^ 255]) + one[41:])(gzip.compress(DEVICE)),
    "twice.json.gz": gzip.compress(gzip.compress(DEVICE)),
    "zlib.json.gz": zlib.compress(DEVICE),
    "trailing.json.gz": gzip.compress(DEVICE) + b"rubbish",
    "two-texts.json": DEVICE + DEVICE,
    "number.json": b"17",
    "text.json": b'"traceEvents"',
    "true.json": b"true",
    "list-of-numbers.json": b"[1, 2, 3]",
    "list-of-lists.json": b'[[{"ph": "X"}]]',
    "no-events.json": b'{"traceEvents": []}',
    "events-null.json": b'{"traceEvents": null}',
    "events-object.json": b'{"traceEvents": {"ph": "X"}}',
    "events-text.json": b'{"traceEvents": "[]"}',
    "no-time.json": _events(lambda one: one | {"ts": None}),
    "text-time.json": _events(lambda one: one | {"ts": "soon"}),
    "huge-time.json": _events(lambda one: one | {"ts": 1e300}),
    "negative.json": _events(lambda one: one | {"dur": -5}),
    "args-list.json": _events(lambda one: one | {"args": [1]}),
    "no-category.json": _events(lambda one: {k: v for k, v in one.items() if k != "cat"}),
    "unknown-category.json": _events(lambda one: one | {"cat": "mystery"}),
    "deep.json": b'{"traceEvents": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "utf16.json": DEVICE.decode().encode("utf-16"),
    "nodes-null.json": b'{"schema": "1.1.1-chakra.0.0.4", "nodes": null}',
    "schema-of-tomorrow.json": HOST.replace(b"1.1.1-chakra.0.0.4", b"9.0.0"),
    "cut.sqlite": NSYS.read_bytes()[:9000],
    "scrambled.sqlite": NSYS.read_bytes()[:4096] + b"\xff" * 60000,
    "no-columns.sqlite": _table("unheard_of INT"),
    "cut.db": ROCPD.read_bytes()[:20000],
    "cut.xplane.pb": XPLANE.read_bytes()[:-2000],
    "scrambled.xplane.pb": XPLANE.read_bytes()[:3000].replace(b"hlo", b"\xff\xfe\xfd"),
    "cut.goal": b"num_ranks 2\nrank 0 {\nl1: calc 100\n",
    "cut.et": b"\x40\x0a\x05",
}
EMPTY = {"no-events.json", "schema-of-tomorrow.json"}


def _read(door: str, path: Path, capsys: Captured) -> None:
    """Nothing is in it, and a warning says so."""
    line = [str(path) if word == "FILE" else word for word in DOORS[door]]
    status = main(line)
    err = capsys.readouterr().err
    assert ("Traceback" not in err and path.name in err) or "the file holds no event" in err
    assert status == 0 or err.count("error: ") == 1


def _refused(door: str, path: Path, capsys: Captured) -> None:
    capsys.readouterr()
    line = [str(path) if word == "FILE" else word for word in DOORS[door]]
    status = main(line)
    out, err = capsys.readouterr()
    assert "Traceback" not in err and "internal error" not in err, err
    errors = [one for one in f"{err}{out}".splitlines() if one.startswith("error: ")]
    assert status in (2, 3), (status, err or out)
    assert len(errors) == 1, err or out
    assert path.name in errors[0] and len(errors[0]) < 700, errors
    if status == 2 and door not in ("validate",):
        assert not out


def _places(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir() if one.suffix in (".et", ".json", ".yw"))


@pytest.mark.parametrize("door", DOORS)
def test_other_kinds_are_refused_with_what_they_are(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(OTHERS) >= 30
    for name, content in OTHERS.items():
        Path(name).write_bytes(content)
        _refused(door, Path(name), capsys)
        os.remove(name)
    assert not _places(tmp_path)


@pytest.mark.parametrize("door", DOORS)
def test_broken_files_are_refused_or_say_what_they_lost(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(BROKEN) >= 40
    Path("folder").mkdir()
    _refused(door, Path("folder"), capsys)
    _refused(door, Path("missing.json"), capsys)
    Path("folder").rmdir()
    for name, content in BROKEN.items():
        Path(name).write_bytes(content)
        (_read if name in EMPTY else _refused)(door, Path(name), capsys)
        os.remove(name)
        if name in EMPTY:
            for made in _places(tmp_path):
                os.remove(made)
    assert not _places(tmp_path)
