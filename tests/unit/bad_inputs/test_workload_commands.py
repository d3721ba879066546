"""Lines of `yantra workload` and `yantra run --workload` that go wrong (workload_commands.txt holds
line and error; "{models}" and "{clusters}" mean the names of all).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.bad_inputs import workload_inputs
from yantra.cli import main
from yantra.fabric import clusters
from yantra.workloads.models import catalogue

Captured = pytest.CaptureFixture[str]
PROMPT = "$ yantra "
NO_ANSWER = "(exit status 3)"


def cases() -> Iterator[tuple[str, str]]:
    text = Path(__file__).with_name("workload_commands.txt").read_text()
    for case in text.split(PROMPT)[1:]:
        line, _, said = case.partition("\n")
        yield line, said.rstrip("\n")


CASES = list(cases())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("workloads")
    workload_inputs.write(made)
    return made


@pytest.mark.parametrize(("line", "said"), CASES, ids=[line for line, _ in CASES])
def test_a_mistake_is_explained(
    line: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(os.listdir())
    status = main(line.split())
    captured = capsys.readouterr()
    models = f"{', '.join(catalogue.names())}, or the path of a config.json"
    expected = said.replace("{models}", models)
    expected = expected.replace("{clusters}", ", ".join(clusters.names()))
    assert captured.err.rstrip("\n") == expected.removesuffix(NO_ANSWER).rstrip("\n")
    assert status == (3 if said.endswith(NO_ANSWER) else 2)
    assert captured.out == ""
    assert sorted(os.listdir()) == before


def test_no_command_line_stands_twice() -> None:
    assert len({line for line, _ in CASES}) == len(CASES) > 100


WRITERS = [
    "workload train --model config.json --dp 2 -o out.yw",
    "workload train --model config.json --save-job out.yaml",
    "workload infer --model llama3-8b --batch 1 --prompt 64 -o out.yw",
    "chakra convert text w.txt --ranks 2 -o out.yw",
    "run --workload good.yw --cluster hgx-h100 -o out.json",
]


@pytest.mark.parametrize("line", WRITERS)
def test_what_cannot_be_written_whole_is_not_written(line: str, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    code = "import sys; from yantra.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *line.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    name = line.split()[-1]
    assert done.stderr.endswith(f"error: {name}: cannot be written: File too large\n")
    assert done.returncode == 2
    assert sorted(os.listdir(folder)) == before


def test_an_expansion_that_is_cut_short_leaves_whole_files_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(folder)
    assert main(["workload", "expand", "broken.yw", "-o", str(tmp_path / "et")]) == 2
    assert "broken.yw: templates/stage1.et: byte " in capsys.readouterr().err
    assert main(["workload", "expand", "good.yw", "-o", str(tmp_path / "whole")]) == 0
    for path in (tmp_path / "et").iterdir():
        assert path.read_bytes() == (tmp_path / "whole" / path.name).read_bytes()


def test_a_command_group_alone_shows_its_help(capsys: Captured) -> None:
    for group in ("workload", "cluster", "chakra"):
        assert main([group]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: yantra {group} ")


@pytest.mark.parametrize("flag", ["--model", "--hf-config", "--megatron-args", "--job"])
@pytest.mark.parametrize("ending", ["", ".yaml", ".json", ".py"])
def test_a_name_that_is_too_long_for_a_file_is_none(
    flag: str, ending: str, capsys: Captured
) -> None:
    assert main(["workload", "train", flag, "x" * 5000 + ending]) == 2
    assert capsys.readouterr().err.startswith(("error: --model: no model is named", "error: xxx"))
