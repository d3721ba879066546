"""What pages and messages tell to install: paths, wheels, and packages of those who own the name.

Our distribution is not registered yet, and `yantra` and `chakra` on the index are of others.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from yantra.base.extras import NEEDS, install

ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("src", "docs", "distributions", "examples", ".github", "adapters")
_ENDINGS = {".py", ".pyi", ".md", ".yml", ".yaml", ".toml", ".js", ".sh"}
_LINE = re.compile(r"pip3? install\s+([^`\n)]*)")
_PATH = re.compile(r"^(?:\.|/)|\.whl$|\*$")
_OTHERS = {"mlflow", "pre-commit", "protobuf", "tensorboardX", "transformers", "wandb"}
"""Registered packages beyond those of our own metadata."""


def project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def registered() -> set[str]:
    ours = project()
    groups = [ours["dependencies"], *ours["optional-dependencies"].values()]
    return {_name(one) for group in groups for one in group} | _OTHERS


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ]", requirement)[0]


def installed(text: str) -> Iterator[str]:
    """The requirements of each install line: all that are quoted or paths, else its first word."""
    for found in _LINE.findall(text):
        words = re.findall(r"'[^']+'|\"[^\"]+\"|\S+", found)
        words = [word for word in words if not word.startswith("-") and word != "\\"]
        for at, word in enumerate(words):
            bare = word.strip("'\"").rstrip(".,:;") or "."
            if at and word == bare and not _PATH.search(bare):
                break
            if not bare.startswith("{"):  # of a table that another test holds
                yield bare


def pages() -> list[Path]:
    found = [path for folder in _FOLDERS for path in (ROOT / folder).rglob("*")]
    return [path for path in (*found, *ROOT.glob("*.md")) if path.suffix in _ENDINGS]


def test_pages_and_messages_install_paths_wheels_and_registered_names() -> None:
    known = registered()
    assert not known & {"yantra", "chakra", project()["name"]}
    wrong, seen = [], 0
    for path in pages():
        for one in installed(path.read_text(encoding="utf-8")):
            seen += 1
            if not _PATH.search(one) and _name(one) not in known:
                wrong.append(f"{path.relative_to(ROOT)}: {one}")
    assert wrong == [] and seen > 20


@pytest.mark.parametrize("line", ["pip install yantra", "pip install -U 'yantra[plots]'"])
def test_a_foreign_name_is_found(line: str) -> None:
    (one,) = installed(f"run `{line}` first")
    assert _name(one) == "yantra" and not _PATH.search(one)


def test_what_messages_install_is_what_the_extras_are() -> None:
    extras = project()["optional-dependencies"]
    assert {name: [needed] for name, needed in NEEDS.items()} == {
        name: extras[name] for name in NEEDS
    }
    assert set(extras) - set(NEEDS) == {"docs", "test"}
    assert install("explore") == "pip install 'optuna>=4,<7'"
