"""The guide's example is run as it stands, and says what the guide says it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from yantra.schedulers import scheduler_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-scheduler.md"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_the_guide_prints_what_it_shows(folder: Path) -> None:
    for where, printed, shown in pages.run(GUIDE, folder):
        assert printed == shown, where


def test_the_example_is_known_as_an_entry_point(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = [block.text for block in pages.blocks(GUIDE) if block.file == "hubs.py"]
    Path("hubs.py").write_text(source, encoding="utf-8")
    pages.install(GUIDE, folder, monkeypatch)
    assert type(scheduler_of("hubs")).__name__ == "Hubs"
