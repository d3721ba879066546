"""Pages for users of other programs name every flag of the commands that keep theirs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "chakra.md"
DROP_INS = (
    *("trace_link", "converter", "jsonizer", "visualizer", "timeline_visualizer", "generator"),
)


def row(command: str) -> str:
    section = PAGE.read_text(encoding="utf-8").split("\n## Flags\n")[1].split("\n## ")[0]
    return next(line for line in section.splitlines() if line.startswith(f"| `{command}` |"))


@pytest.mark.parametrize("name", DROP_INS)
def test_the_page_names_the_flags_of_a_command(name: str) -> None:
    code = f"import sys; from yantra.cli.upstream.{name} import main; sys.exit(main())"
    calls = [["--help"]]
    if name == "converter":
        calls += [["PyTorch", "--help"], ["Text", "--help"]]
    told = ""
    for words in calls:
        done = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        told += done.stdout
    flags = set(re.findall(r"--[\w-]+", told)) - {"--help", "--compat"}
    assert set(re.findall(r"`(--[\w-]+)`", row(f"chakra_{name}"))) == flags
