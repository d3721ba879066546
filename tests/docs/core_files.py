"""Files of the core that a guide shows, built with one of the core's tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.core_objects import NATIVE, Objects
from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parents[2]


def files_of(guide: str) -> list[str]:
    page = ROOT / "docs" / "guides" / guide
    return [block.text for block in blocks(page) if block.language == "cpp"]


def holds(
    objects: Objects, folder: Path, test: str, files: list[str]
) -> subprocess.CompletedProcess[str]:
    added = [folder / f"file{at}.cpp" for at in range(len(files))]
    for path, text in zip(added, files, strict=True):
        path.write_text(text)
    command = objects.command(NATIVE / test, folder, added)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
