"""Every command has `--json`, in the forms of its page; errors and warnings are lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.example_files import as_json, words
from tests.cli.tree import COMMANDS, Found, name
from yantra.cli import guarded, main, warn

Captured = pytest.CaptureFixture[str]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "command-line.md"
WITHOUT = {
    "yantra schema": "its output is a JSON Schema",
    "yantra completion": "it prints a script",
    "yantra service": "it answers over gRPC",
    "yantra ui": "it serves a page",
}
COMMAND = "import sys; from yantra.cli import main; sys.exit(main())"


def rows() -> Iterator[tuple[str, str, str]]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == 3 and cells[1].split()[0].strip(",") in ("object", "list"):
            for command in re.findall(r"`([^`]+)`", cells[0]):
                yield f"yantra {command}", cells[1], cells[2]


ROWS = {command: (form, keys) for command, form, keys in rows()}
WITH = [found for found in COMMANDS if found.name not in WITHOUT]


def test_every_command_has_json_but_those_that_say_why() -> None:
    lacking = {found.name for found in COMMANDS if not found.has_option("--json")}
    assert lacking == set(WITHOUT)
    text = PAGE.read_text(encoding="utf-8")
    for command in WITHOUT:
        assert f"`{command.removeprefix('yantra ')}`, " in text


def test_the_page_has_a_row_for_every_command() -> None:
    assert {found.name for found in WITH} == set(ROWS)


@pytest.mark.parametrize("found", WITH, ids=name)
def test_the_form_is_that_of_the_page(found: Found, inputs: Path, capfd: Captured) -> None:
    line = as_json(found)
    assert line, "give an example with --json"
    if found.words == ("trace", "record"):
        pytest.skip("it trains; tests/torch/test_trace_record.py reads its form")
    if found.words == ("chakra", "replay"):
        if find_spec("torch") is None:
            pytest.skip("PyTorch is not installed")
        subprocess.run([sys.executable, "-c", COMMAND, *words(line)], check=True)
    else:
        assert main(words(line)) in ((0, 1) if found.words == ("chakra", "diff") else (0,))
    form, cell = ROWS[found.name]
    said, wrong = capfd.readouterr()
    assert "error:" not in wrong
    assert [name for name in os.listdir(inputs) if name.endswith(".tmp")] == []
    value = [json.loads(line) for line in said.splitlines()] if "line" in form else json.loads(said)
    assert isinstance(value, dict) is (form == "object")
    documented = set(re.findall(r"`([^`]+)`", cell))
    first: dict[str, Any] = value if isinstance(value, dict) else value[0]
    assert first, said
    if "those of " not in cell and "the keys of " not in cell:
        assert set(first) <= documented
    assert not [key for key in first if not re.fullmatch(r"[a-z][a-z0-9_]*", key)]


@pytest.mark.parametrize("found", WITH, ids=name)
def test_a_mistake_is_one_json_line_on_stderr(found: Found, inputs: Path, capsys: Captured) -> None:
    if found.words == ("astra-sim",):
        assert main([*found.words, "--json"]) == 2
    else:
        assert main([*found.words, "--json", "--nosuch"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    error = json.loads(line)
    assert error["error"] == "ConfigError" and error["exit_code"] == 2
    assert error["message"] == f"{error['where']}: {error['problem']}"


def test_a_warning_is_a_json_line_on_stderr(capsys: Captured) -> None:
    def command() -> int:
        warn(["something", "something else"])
        return 0

    assert guarded(command, json=True) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"warning": "something"},
        {"warning": "something else"},
    ]
    assert guarded(command, json=False) == 0
    assert capsys.readouterr().err == "warning: something\nwarning: something else\n"


def test_an_interruption_is_a_json_line_on_stderr(capsys: Captured) -> None:
    def command() -> int:
        raise KeyboardInterrupt

    assert guarded(command, json=True) == 130
    form = json.loads(capsys.readouterr().err)
    assert form == {"error": "Interrupted", "exit_code": 130, "message": "interrupted"}
