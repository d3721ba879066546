"""Programs for tests of the network `external`: scripts that say what a test wants; adapters."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parents[1] / "adapters"
REFERENCE = ADAPTERS / "python" / "store_and_forward.py"
BARE = (sys.executable, "-SE")
"""An interpreter that imports only what a program asks for starts five times as fast."""
REFERENCE_WORDS = (*BARE, str(REFERENCE))
"""The reference of the protocol, and what starts it."""

_BEGIN = f"""#!{" ".join(BARE)}
import os, signal, sys, time

def say(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.flush()

def hear(word):
    for line in sys.stdin:
        if line.split()[0] == word:
            return line.split()
    sys.exit(0)

"""


def program(folder: Path, body: str, name: str = "program") -> str:
    path = folder / name
    path.write_text(_BEGIN + body)
    path.chmod(0o755)
    return str(path)


def answering(folder: Path, answer: str, name: str = "program") -> str:
    ready = "hear('begin')\nsay('ready 1\\n')\nhear('advance')\n"
    return program(folder, f"{ready}{answer}\nhear('end')\n", name)


def adapter(name: str, header: str, folder: Path, standard: str = "c++20") -> str:
    for tool in ("make", "g++"):
        if shutil.which(tool) is None:
            pytest.skip(f"the adapter {name} is not tested: there is no {tool}")
    include = f"#include <{header}>\n"
    there = subprocess.run(
        ["g++", f"-std={standard}", "-E", "-x", "c++", "-"],
        input=include,
        capture_output=True,
        text=True,
    )
    if there.returncode:
        pytest.skip(f"the adapter {name} is not tested: there is no {header}")
    shutil.copytree(ADAPTERS, folder / "adapters")
    at = folder / "adapters" / name
    subprocess.run(["make", "--silent", "-C", str(at), "clean"], check=True)
    done = subprocess.run(["make", "--silent", "-C", str(at)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return str(at / f"{name}_network")
