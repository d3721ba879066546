"""The guide's cluster is a cluster, and Yantra prints of it what the guide shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import run

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-cluster.md"


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "guide"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = list(run(GUIDE, folder))
    assert len(outputs) == 8
    for where, printed, shown in outputs:
        assert printed == shown, where
