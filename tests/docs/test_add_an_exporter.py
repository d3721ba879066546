"""The guide's example runs, and does what the guide says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-an-exporter.md"


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for where, printed, shown in pages.run(GUIDE, folder):
        assert printed == shown, where
