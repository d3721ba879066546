"""Writes src/yantra/_core.pyi, the types of the core, from the built module itself.

`make stub` does it; a test compares. nanobind's stubgen asks the module for its signatures. What
its words for arrays say of memory means nothing to a type checker: a column of the core is a
memoryview of numbers, and the core takes anything with a buffer. (That arrays of numpy have one is
known to type checkers from Python 3.12 on only, so they are named.) Choices of the core
(native/bind/choices.hpp) are written as the enumerations that they stand for.
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
_GENERATOR = """
import enum
from nanobind.stubgen import main
from yantra import _core

def enumerate_choices(scope):
    for name, kind in list(vars(scope).items()):
        if not isinstance(kind, type) or kind is _core._Choice:
            continue
        if issubclass(kind, _core._Choice):
            values = {name: choice.value for name, choice in kind.__members__.items()}
            names = {"module": kind.__module__, "qualname": kind.__qualname__}
            setattr(scope, name, enum.Enum(name, values, **names))
        elif kind.__module__ == _core.__name__:
            enumerate_choices(kind)

enumerate_choices(_core)
main()
"""
_REPLACED = (
    (rf"Annotated\[memoryview, {_MEMORY}\]", "memoryview[int]"),
    (rf"Annotated\[(NDArray\[[\w.]+\]), {_MEMORY}\]", r"Buffer | \1"),
    (r"import numpy\n", "import numpy\nfrom typing_extensions import Buffer\n"),
)


def stub() -> str:
    """Return the text of the stub."""
    with TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.pyi"
        asked = ("-q", "-m", "yantra._core", "-p", str(PATTERNS), "-o", str(raw))
        _run("-c", _GENERATOR, *asked)
        text = raw.read_text(encoding="utf-8")
    for pattern, words in _REPLACED:
        text = re.sub(pattern, words, text)
    there = ("--quiet", "--stdin-filename", str(STUB), "-")
    text = _run("-m", "ruff", "check", "--fix", "--select", "F401,I", *there, text=_HEAD + text)
    return _run("-m", "ruff", "format", *there, text=text)


def _run(*arguments: str, text: str = "") -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    if "--print" in sys.argv:
        sys.stdout.write(stub())
    else:
        STUB.write_text(stub(), encoding="utf-8")
