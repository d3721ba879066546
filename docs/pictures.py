"""Makes the pictures of pages anew: `python -m docs.pictures [NAME ...]`; needs Chromium.

A picture is made by the commands that its page shows. Text is drawn as SVG, an HTML page is
photographed. Pictures of recordings that are not in the package (docs/serving.png) are not made.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from docs.build import commands_of
from docs.gallery.questions import QUESTIONS

DOCS = Path(__file__).resolve().parent
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOURS = 64  # of a photograph, to keep it small
_WIDEST = 150  # characters of a drawn text


class Shot(NamedTuple):
    """`made` is written by `commands`; without it, what the last one prints is drawn."""

    commands: Sequence[str]
    made: str
    size: tuple[int, int] = (1180, 1500)


def commands(page: Path, heading: str) -> list[str]:
    """Return the commands below a heading, up to the next."""
    _, _, section = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    shown = _CONSOLE.findall(section.partition("\n## ")[0])
    return [one for block in shown for one in re.split(r"(?<!\\)\n", commands_of(block))]


def shots() -> dict[str, Shot]:
    """Return all pictures by their path in docs/."""
    gallery = {
        f"gallery/{one.picture}": Shot(one.commands, one.made, (1180, 1100)) for one in QUESTIONS
    }
    predict = commands(DOCS.parent / "README.md", "Predict")
    return {"report.png": Shot(predict, "report.html"), **gallery}


def make(name: str, shot: Shot) -> None:
    """Write a picture; a command that fails is an error."""
    with TemporaryDirectory() as folder:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        said = ""
        for command in shot.commands:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=os.environ | {"PATH": path},
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            said = done.stdout
        made = Path(folder) / shot.made
        if not shot.made:
            (DOCS / name).write_text(drawn(said), encoding="utf-8")
        elif made.suffix == Path(name).suffix:
            shutil.copy(made, DOCS / name)
        else:
            _photograph(made, DOCS / name, shot.size)


def drawn(text: str) -> str:
    """Return text as SVG, as a terminal shows it; long lines are cut."""
    lines = [line[:_WIDEST] for line in text.rstrip().splitlines()]
    width = 8.45 * max(map(len, lines), default=1) + 32
    height = 20 * len(lines) + 32
    rows = [
        f'<text x="16" y="{32 + 20 * at}" xml:space="preserve">{escape(line)}</text>'
        for at, line in enumerate(lines)
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'width="{width:.0f}" height="{height}" font-family="monospace" font-size="14" '
        'fill="#e6e6e6"><rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>'
    )
    return "\n".join([head, *rows, "</svg>"]) + "\n"


def _photograph(page: Path, picture: Path, size: tuple[int, int]) -> None:
    from PIL import Image

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no Chromium here: apt-get install chromium fonts-dejavu-core")
    look = [f"--window-size={size[0]},{size[1]}", "--hide-scrollbars", f"--screenshot={picture}"]
    subprocess.run(
        [browser, "--headless", "--no-sandbox", *look, page.as_uri()],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    with Image.open(picture) as photograph:
        small = photograph.convert("RGB").quantize(_COLOURS)
    small.save(picture, optimize=True)


if __name__ == "__main__":
    known = shots()
    for chosen in sys.argv[1:] or known:
        make(chosen, known[chosen])
