"""Every example of every command is run, on small files; one of each with `--json` in test_json."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.example_files import as_json, words
from tests.cli.tree import COMMANDS, EVERY
from yantra.cli import main

CASES = sorted(
    {example for found in EVERY for example in found.examples}
    - {as_json(found) for found in COMMANDS}
)
NEEDS_TORCH = "yantra chakra replay"
NEEDS_A_GPU = "yantra microbench -o"
TRAINS = "yantra trace record"
SERVE = ("yantra service", "yantra ui")
COMMAND = "import sys; from yantra.cli import main; sys.exit(main())"


@pytest.mark.parametrize("example", CASES)
def test_an_example_runs(example: str, inputs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if example.startswith(SERVE):
        pytest.skip("it serves until it is interrupted; tests of its own run it")
    if example.startswith(NEEDS_A_GPU):
        pytest.skip("two minutes on a GPU")
    if example.startswith(TRAINS):
        pytest.skip("it trains; tests/torch/test_trace_record.py runs it")
    if example.startswith(NEEDS_TORCH):
        if find_spec("torch") is None:
            pytest.skip("PyTorch is not installed")
        done = subprocess.run([sys.executable, "-c", COMMAND, *words(example)], check=False)
        status = done.returncode
    else:
        status = main(words(example))
    said = capfd.readouterr()
    assert status in ((0, 1) if " chakra diff " in example else (0,)), said.err
    assert "error:" not in said.err
    assert [name for name in os.listdir(inputs) if name.endswith(".tmp")] == []
