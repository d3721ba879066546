"""The site of the documentation, built once for all tests that look at it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDS_MKDOCS = pytest.mark.skipif(
    any(find_spec(one) is None for one in ("material", "mkdocstrings")),
    reason="the extra docs is not installed",
)


class Site(NamedTuple):
    folder: Path
    failure: str


def built(shared: Path) -> Site:
    site, said = shared / "site", shared / "site.txt"
    with Path(f"{site}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            done = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)],
                cwd=ROOT,
                env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            why = f"mkdocs ended with {done.returncode}\n{done.stdout}{done.stderr}"
            said.write_text(why if done.returncode else "")
    return Site(site, said.read_text())
