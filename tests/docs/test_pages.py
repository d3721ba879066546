"""The pages' code runs, its output is as shown, and their links lead somewhere."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import blocks, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
EXECUTED = [
    *sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md")),
    ROOT / "docs" / "start" / "choose-a-cluster.md",
    ROOT / "docs" / "start" / "a-pytorch-job.md",
    ROOT / "docs" / "start" / "study-networks.md",
    ROOT / "docs" / "start" / "post-training.md",
    ROOT / "docs" / "start" / "serve-requests.md",
    ROOT / "docs" / "concepts" / "fidelity.md",
    ROOT / "docs" / "internals" / "ARCHITECTURE.md",
    *(
        page
        for page in sorted((ROOT / "docs" / "reference").glob("*.md"))
        if any(block.language in ("console", "text") for block in blocks(page))
    ),
    ROOT / "README.md",
]
FOLDERS = "src|native|tests|docs|benchmarks|examples"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", EXECUTED, ids=name)
def test_a_page_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "torchrun" in page.read_text(encoding="utf-8") and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = list(run(page, folder))
    assert outputs
    for where, printed, shown in outputs:
        assert printed == shown, where


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        there = (page.parent / path) if path else page
        assert there.exists(), target
        if heading:
            assert heading in anchors(there), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_file_that_is_named_exists(page: Path) -> None:
    for path in re.findall(rf"`((?:{FOLDERS})/[\w./-]*)`", prose(page)):
        assert (ROOT / path).exists(), path


def test_the_architecture_names_every_part() -> None:
    text = (ROOT / "docs" / "internals" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    parts = [f"{path.name}/" for path in (ROOT / "native").iterdir()]
    for path in (ROOT / "src" / "yantra").iterdir():
        if path.name.startswith("_") or path.suffix == ".typed":
            continue
        parts.append(path.name if path.suffix == ".py" else f"{path.name}/")
    assert parts
    assert [part for part in parts if f"`{part}`" not in text] == []


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
