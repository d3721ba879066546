"""The guide's example runs, and does what the guide says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from yantra.collectives import contract, find
from yantra.collectives.schedule import Kind

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-collective-algorithm.md"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = next(block.text for block in pages.blocks(GUIDE) if block.language == "python")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bidirectional_ring.py"
    path.write_text(source, encoding="utf-8")
    return path


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = list(pages.run(GUIDE, folder))
    assert len(outputs) == 6
    for where, printed, shown in outputs:
        assert printed == shown, where


def test_the_example_works_as_an_entry_point(
    example: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.install(GUIDE, example.parent, monkeypatch)
    (program,) = find("bidirectional_ring").programs(Kind.ALL_REDUCE, 6)
    sent = sum(size for src, _, size in program.messages(12 * 840) if src == 0)
    assert sent == 2 * 5 * 2 * 840  # as many bytes as one ring, in twice the messages


def test_the_check_takes_names_and_explains_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contract.main(["halving_doubling"]) == 0
    assert capsys.readouterr().out.startswith("all_gather: proven over 2, 4, 8, 16, 32, 64 ")
    assert contract.main(["rnig"]) == 2
    assert "did you mean 'ring'?" in capsys.readouterr().err
    assert contract.main([str(tmp_path / "none.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/none.py: no such file; expected a Python file, or a name without .py\n"
    )
    (tmp_path / "empty.py").write_text("")
    assert contract.main([str(tmp_path / "empty.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/empty.py: gives no collective algorithm; expected a line "
        "PLUGIN = <a CollectiveAlgorithm class>\n"
    )
