"""The type stub of the core is what the built core says of itself."""

from __future__ import annotations

import enum
import subprocess
import sys
from pathlib import Path

from yantra import _core

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "src" / "yantra" / "_core.pyi"


def test_the_stub_is_what_make_stub_writes() -> None:
    command = [sys.executable, "native/bind/stub.py", "--print"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == STUB.read_text(), "the core has changed; run `make stub`"


def test_choices_count_from_0_in_order() -> None:
    """Columns hold them as numbers, and tables of their names are looked up by place."""
    for name, value in vars(_core).items():
        if isinstance(value, type) and issubclass(value, enum.Enum):
            assert [choice.value for choice in value] == list(range(len(value))), name
