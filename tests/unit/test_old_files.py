"""Files of commit 14b349c6 (`old_files`) are read, or refused with what makes them anew."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from yantra.cli import main

OLD = Path(__file__).with_name("old_files")
ON = ("--cluster", "hgx-h100")
READ = [
    ("run", "--workload", "small.yw", *ON),
    ("run", "--workload", "decode.yw", *ON),
    ("workload", "show", "decode.yw"),
    ("run", "result.json.gz"),
    ("explain", "result.json.gz", "--no-runs"),
    ("compare", "result.json.gz", "result.json.gz"),
    ("run", "stacked.yaml"),
    ("run", "stacked.yaml", "--stack", "./my-megatron.yaml"),
    ("run", "stacked.yaml", "--stack", "./my-gpu.yaml"),
    ("run", "stacked.yaml", "--stack", "./my-node.yaml"),
    ("workload", "train", "--job", "saved.yaml"),
]
REFUSED = [
    (
        ("run", "scenario.yaml"),
        "scenario.yaml: cluster.speeds: is part of the stack now; expected stack: roofline",
    ),
    (
        ("explore", "odds", "study"),
        "or one of another version; run the study again into another folder: yantra explore run",
    ),
    (
        ("explore", "run", "study.yaml", "-o", "study", "--resume"),
        "or of another version; run the study again into another folder: yantra explore run",
    ),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(OLD, tmp_path / "old")
    monkeypatch.chdir(tmp_path / "old")


@pytest.mark.parametrize("line", READ, ids=" ".join)
def test_an_old_file_is_read(line: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(line)) == 0
    said = capsys.readouterr()
    assert said.out and "error" not in said.err


@pytest.mark.parametrize(("line", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_an_old_file_that_is_not_read_says_what_makes_it_anew(
    line: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(line)) == 2
    assert said in capsys.readouterr().err


def test_the_study_runs_anew(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "run", "study.yaml", "-o", "again"]) == 0
    capsys.readouterr()
    assert main(["explore", "odds", "again"]) == 0
