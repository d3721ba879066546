"""The guide's example runs, and does what the guide says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import pages
from yantra.workloads import schedules
from yantra.workloads.schedules import contract
from yantra.workloads.schedules.execution import Costs, execute

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-schedule.md"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (source,) = (block.text for block in pages.blocks(GUIDE) if block.language == "python")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "breadth_first.py"
    path.write_text(source, encoding="utf-8")
    return path


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    outputs = list(pages.run(GUIDE, folder))
    assert len(outputs) == 4
    for where, printed, shown in outputs:
        assert printed == shown, where


def test_the_example_runs_as_an_entry_point(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages.install(GUIDE, tmp_path, monkeypatch)
    schedule = schedules.get("breadth-first")
    assert schedule.requires(4, 3, 2) == (
        "needs at least one micro-batch per device (4), got 3; the nearest is 4"
    )
    for p, m, v in ((2, 3, 2), (4, 9, 3)):  # the bubble of the interleaved schedule
        execution = execute(schedule.orders(p, m, v), schedule.stages(p, v), Costs())
        assert execution.makespan == 3 * (m * v + p - 1)


def test_the_check_takes_names_and_explains_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert contract.main(["zb-h2"]) == 0
    assert capsys.readouterr().out.startswith("every law holds over 78 sizes; 4 devices")
    assert contract.main(["zb-h3"]) == 2
    assert "did you mean 'zb-h2'?" in capsys.readouterr().err
    assert contract.main([str(tmp_path / "none.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/none.py: no such file; expected a Python file, or a name without .py\n"
    )
    (tmp_path / "empty.py").write_text("")
    assert contract.main([str(tmp_path / "empty.py")]) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/empty.py: gives no schedule; "
        "expected a line PLUGIN = <a Schedule class>\n"
    )
