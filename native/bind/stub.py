"""Writes src/yantra/_core.pyi, the types of the core, from the built module itself.

`make stub` does it; a test compares. nanobind's stubgen asks the module for its signatures. What
its words for arrays say of memory means nothing to a type checker: a column of the core is a
memoryview of numbers, and the core takes anything with a buffer. (That arrays of numpy have one is
known to type checkers from Python 3.12 on only, so they are named.)
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "src" / "yantra" / "_core.pyi"
PATTERNS = Path(__file__).with_name("stub.pat")

_HEAD = """\
# Generated from the built module by native/bind/stub.py; `make stub` writes it.
# ruff: noqa: N818
"""
_MEMORY = r"dict\((?:[^()]|\([^()]*\))*\)"
_REPLACED = (
    (rf"Annotated\[memoryview, {_MEMORY}\]", "memoryview[int]"),
    (rf"Annotated\[(NDArray\[[\w.]+\]), {_MEMORY}\]", r"Buffer | \1"),
    (r"import numpy\n", "import numpy\nfrom typing_extensions import Buffer\n"),
)


def stub() -> str:
    """Return the text of the stub."""
    with TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.pyi"
        _run("nanobind.stubgen", "-q", "-m", "yantra._core", "-p", str(PATTERNS), "-o", str(raw))
        text = raw.read_text(encoding="utf-8")
    for pattern, words in _REPLACED:
        text = re.sub(pattern, words, text)
    there = ("--quiet", "--stdin-filename", str(STUB), "-")
    text = _run("ruff", "check", "--fix", "--select", "F401,I", *there, text=_HEAD + text)
    return _run("ruff", "format", *there, text=text)


def _run(module: str, *arguments: str, text: str = "") -> str:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(stub())
    else:
        STUB.write_text(stub(), encoding="utf-8")
