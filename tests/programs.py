"""Programs for tests of the network `external`: scripts that say what a test wants, one and all."""

from __future__ import annotations

import sys
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "adapters" / "python" / "store_and_forward.py"
"""The reference of the protocol."""

_BEGIN = f"""#!{sys.executable} -SE
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
    """Write a script that can `say(text)` and `hear(word)`, and return its path."""
    path = folder / name
    path.write_text(_BEGIN + body)
    path.chmod(0o755)
    return str(path)


def answering(folder: Path, answer: str, name: str = "program") -> str:
    """Write a program that takes the fabric and says something when it is first let advance."""
    ready = "hear('begin')\nsay('ready 1\\n')\nhear('advance')\n"
    return program(folder, f"{ready}{answer}\nhear('end')\n", name)
