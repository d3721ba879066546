"""Makes the pictures of pages anew: `python -m docs.pictures [NAME ...]`; needs Chromium.

A picture is made by the commands of its own page, so it shows what a reader gets. Pictures of
recordings that are not in the package (docs/serving.png) are not made here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from docs.build import commands_of

DOCS = Path(__file__).resolve().parent
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shot(NamedTuple):
    """`made` is written by the commands of `page` under `heading`; an .html is photographed."""

    page: str
    heading: str
    made: str
    size: tuple[int, int] = (1180, 1500)


SHOTS = {"report.png": Shot("../README.md", "Predict", "report.html")}


def commands(page: str, heading: str) -> list[str]:
    """Return the commands below a heading, up to the next."""
    text = (DOCS / page).read_text(encoding="utf-8")
    _, _, section = text.partition(f"\n## {heading}\n")
    shown = _CONSOLE.findall(section.partition("\n## ")[0])
    return [one for block in shown for one in re.split(r"(?<!\\)\n", commands_of(block))]


def make(name: str) -> None:
    """Write a picture; a command that fails is an error."""
    shot = SHOTS[name]
    with TemporaryDirectory() as folder:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for command in commands(shot.page, shot.heading):
            subprocess.run(
                ["bash", "-c", command], cwd=folder, env=os.environ | {"PATH": path}, check=True
            )
        made = Path(folder) / shot.made
        if made.suffix == Path(name).suffix:
            shutil.copy(made, DOCS / name)
        else:
            _photograph(made, DOCS / name, shot.size)


def _photograph(page: Path, picture: Path, size: tuple[int, int]) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here: apt-get install chromium fonts-dejavu-core")
    look = [f"--window-size={size[0]},{size[1]}", "--hide-scrollbars", f"--screenshot={picture}"]
    subprocess.run(
        [browser, "--headless", "--no-sandbox", *look, page.as_uri()],
        check=True,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or SHOTS:
        make(chosen)
