"""What wrong lines of every command say: one line of `wrong_lines.txt`, nothing written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cli.tree import COMMANDS, Found, name
from tests.cli.wrong_lines import PROMPT, RIGHT, lines, prepare, recorded, run

RECORDED = recorded()


@pytest.fixture
def folder(inputs: Path) -> Path:
    prepare(inputs)
    return inputs


@pytest.mark.parametrize("found", COMMANDS, ids=name)
def test_a_mistake_is_one_line(found: Found, folder: Path) -> None:
    if found.words == ("chakra", "replay") and find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    for words in lines(found):
        said = RECORDED[" ".join(words)]
        if said == RIGHT:
            continue
        before = sorted(files(folder))
        outcome = run(words)
        told = outcome.err or outcome.out
        assert f"{told}\n" == said, f"{PROMPT}{' '.join(words)}"
        assert outcome.status == 2, words
        assert "Traceback" not in told and "internal error" not in told
        errors = [line for line in outcome.err.splitlines() if line.startswith(("error:", "{"))]
        assert len(errors) == bool(outcome.err), words
        assert sorted(files(folder)) == before, words


def test_every_recorded_line_is_of_a_command(folder: Path) -> None:
    assert {" ".join(words) for found in COMMANDS for words in lines(found)} == set(RECORDED)


def files(folder: Path) -> Iterator[str]:
    for at, _, names in os.walk(folder):
        yield from (os.path.join(at, one) for one in names)
