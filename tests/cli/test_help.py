"""The help of every command: examples, 80 columns, nothing heavy imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.tree import EVERY, Found, name
from yantra.cli import main

HEAVY = {"numpy", "rich", "torch", "pyarrow", "asyncio", "concurrent.futures", "http", "yaml"}


@pytest.mark.parametrize("found", EVERY, ids=name)
def test_the_help_has_examples_and_fits_80_columns(
    found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*found.words, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: {found.name} ")
    assert max(map(len, text.splitlines())) <= 80
    assert found.examples, "give the command examples: cls=WithExamples, examples=[...]"
    assert f"\nExamples:\n  {found.examples[0].splitlines()[0]}\n" in text
    assert all(example.startswith("yantra ") for example in found.examples)


def test_every_option_and_command_says_what_it_is() -> None:
    for found in EVERY:
        assert found.command.get_short_help_str(), found.name
        for parameter in found.command.params:
            if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False):
                assert getattr(parameter, "help", None), f"{found.name} {parameter.opts}"


def test_help_imports_nothing_heavy() -> None:
    """In one process: what no command imports when all run, none imports alone."""
    code = (
        "import io, json, sys\n"
        "from contextlib import redirect_stdout\n"
        "from yantra.cli import main\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    with redirect_stdout(io.StringIO()):\n"
        "        assert main([*words, '--help']) == 0\n"
        "print(json.dumps(list(sys.modules)))\n"
    )
    lines = json.dumps([found.words for found in EVERY])
    done = subprocess.run(
        [sys.executable, "-c", code, lines], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert HEAVY & set(json.loads(done.stdout)) == set()
