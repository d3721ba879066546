"""The campaign of random jobs against ASTRA-sim's binaries, with a stand-in for the binary."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.reference import jobs, runs


def _stand_in(folder: Path, change: str) -> Path:
    """Write a program that says what Yantra says, with a change to the text."""
    program = folder / "reference"
    program.write_text(
        f"#!{sys.executable}\n"
        "import io, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from contextlib import redirect_stdout\n"
        "from yantra.cli import main\n"
        "out = io.StringIO()\n"
        "with redirect_stdout(out):\n"
        "    main(['astra-sim', *sys.argv[1:]])\n"
        "lines = [line for line in out.getvalue().splitlines() if ' finished, ' in line]\n"
        f"print(*({change}), sep=chr(10))\n"
    )
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("kind", jobs.KINDS)
def test_a_seed_gives_the_same_files_which_are_sound(kind: str, tmp_path: Path) -> None:
    for seed in range(3):
        first, second = tmp_path / f"{seed}a", tmp_path / f"{seed}b"
        first.mkdir(), second.mkdir()
        jobs.write(kind, seed, first)
        files = jobs.write(kind, seed, second)
        texts = {each.name: each.read_bytes() for each in first.iterdir()}
        assert texts == {each.name: each.read_bytes() for each in second.iterdir()}
        finished, said = runs.ours("unaware", files)
        assert len(finished) == files.ranks or said.startswith("status 3"), said


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ("lines", "equal"),
        ("lines[::-1]", "different"),
        ("[line.replace(' cycles, exposed', '0 cycles, exposed') for line in lines]", "different"),
        ("lines[:2]", "only Yantra completes"),
        ("[lines[0].replace('tion ', 'tion 9')]", "different before the reference stops"),
    ],
)
def test_a_binary_that_says_something_else_is_found(
    change: str, verdict: str, tmp_path: Path
) -> None:
    seed = 1  # of ranks that all finish
    assert runs.compared("symmetric", seed, "unaware", _stand_in(tmp_path, change)).kind == verdict
