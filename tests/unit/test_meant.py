"""What a folder, and names with `*`, stand for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.recorded_jobs import Plan, write
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.tracing.meant import meant


def test_a_folder_of_one_job_is_its_files_and_commands_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Plan(ranks=2, steps=1), tmp_path)
    (tmp_path / "notes.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert meant(["."]) == ("./rank{rank}.json",)
    assert meant(["rank*.json"]) == ("rank0.json", "rank1.json")
    assert meant(["none*.json", "other.json"]) == ("none*.json", "other.json")
    assert main(["trace", "look", "."]) == 0
    assert "yantra trace why './rank{rank}.json'\n" in capsys.readouterr().out
    assert main(["trace", "why", "."]) == 0
    assert "2 ranks, " in capsys.readouterr().out
    (tmp_path / "rank1.json").unlink()
    assert meant(["."]) == ("./rank0.json",)


def test_names_that_differ_in_two_numbers_or_have_zeros_are_all_taken(tmp_path: Path) -> None:
    for folder, names in (("two", ("a0.b1.et", "a1.b2.et")), ("zeros", ("a00.et", "a01.et"))):
        (tmp_path / folder).mkdir()
        paths = [str(tmp_path / folder / name) for name in names]
        for path in paths:
            TraceBuilder().build().write(path)
        assert meant([str(tmp_path / folder)]) == tuple(paths)


def test_a_folder_of_several_jobs_or_none_says_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="without recordings"):
        meant([str(tmp_path)])
    for name in ("job.0.et", "job.1.et", "other.et"):
        TraceBuilder().build().write(str(tmp_path / name))
    said = re.escape(f"'{tmp_path}/job.{{rank}}.et' (2 files), {tmp_path}/other.et (1 file)")
    with pytest.raises(ConfigError, match=f"several recordings; name one of {said}"):
        meant([str(tmp_path)])
