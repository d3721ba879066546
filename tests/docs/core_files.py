"""Files of the core that a guide shows, built with a test of the core beside those there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
COMPILER = shutil.which("g++")


def files_of(guide: str) -> list[str]:
    """Return the C++ blocks of a guide."""
    page = ROOT / "docs" / "guides" / guide
    return [block.text for block in blocks(page) if block.language == "cpp"]


def holds(
    folder: Path, test: str, sources: list[str], files: list[str]
) -> subprocess.CompletedProcess[str]:
    """Build a test with sources, of folders all, and files beside them, and run it."""
    names = [str(NATIVE / test)]
    for name in sources:
        found = [NATIVE / name] if name.endswith(".cpp") else sorted((NATIVE / name).glob("*.cpp"))
        names += [str(source) for source in found if not source.name.endswith(".test.cpp")]
    for at, text in enumerate(files):
        (folder / f"file{at}.cpp").write_text(text)
        names.append(f"file{at}.cpp")
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
    command = [str(COMPILER), *flags, *names, "-o", "test"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run(
        [folder / "test"], capture_output=True, text=True, check=False, timeout=60
    )
