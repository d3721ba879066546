"""The readers written in Python that are fuzzed, one file each.

A file here names a reader and inputs to start from:

    FORM = "json"                        # "json", "xml" or "text": how inputs are changed

    def seeds() -> list[bytes]: ...      # small well-formed inputs
    def read(data: bytes) -> object: ... # may raise YantraError and nothing else

`python -m tests.fuzz --target NAME` runs the file NAME.py; tests/unit/test_fuzz_readers.py tries a
few hundred inputs on each.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple


class Reader(NamedTuple):
    name: str
    form: str
    seeds: Callable[[], list[bytes]]
    read: Callable[[bytes], object]


def names() -> list[str]:
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def load(name: str) -> Reader:
    module = import_module(f"{__name__}.{name}")
    return Reader(name, module.FORM, module.seeds, module.read)
