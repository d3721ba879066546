"""The examples of every command with one thing wrong. `python -m tests.cli.wrong_lines` rewrites
`wrong_lines.txt`.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.cli import example_files
from tests.cli.tree import COMMANDS, Found
from yantra.cli import main

RECORDED = Path(__file__).with_name("wrong_lines.txt")
PROMPT = "$ yantra "
RIGHT = "(right)\n\n"
RIGHT_ALONE = {("accuracy",), ("service",), ("ui",)}  # minutes of work, or no end; nothing wrong
OUTPUTS = ("-o", "--output", "--csv", "--save-job", "--report", "--trace", "--msccl", "--traces")
WRONG_INPUTS = ("missing", "folder", "empty")
WRONG_OUTPUTS = ("file/out", "folder")


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


def prepare(folder: Path) -> None:
    (folder / "folder").mkdir()
    (folder / "empty").write_bytes(b"")
    (folder / "file").write_bytes(b"")


def lines(found: Found) -> Iterator[list[str]]:
    yield [*found.words, "--nosuch"]
    if found.words not in RIGHT_ALONE:
        yield list(found.words)
    seen = set()
    for example in found.examples:
        for place, line in _changed(example_files.words(example)):
            if place not in seen:
                seen.add(place)
                yield line


def _changed(words: list[str]) -> Iterator[tuple[tuple[str, str], list[str]]]:
    for at, word in enumerate(words):
        option, equals, value = word.partition("=")
        if not option.startswith("--") or not equals:
            option, value = words[at - 1] if at else "", word
        is_output = option in OUTPUTS
        if not is_output and not _is_input(value):
            continue
        begin = word.removesuffix(value)
        place = option if option.startswith("-") else "an argument"
        for wrong in WRONG_OUTPUTS if is_output else WRONG_INPUTS:
            yield (place, wrong), [*words[:at], begin + wrong, *words[at + 1 :]]


def _is_input(name: str) -> bool:
    return os.path.exists(name) or os.path.exists(name.replace("{rank}", "0")) or name == "step"


def run(words: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    return Outcome(status, out.getvalue(), err.getvalue())


def recorded() -> dict[str, str]:
    cases = RECORDED.read_text(encoding="utf-8").split(PROMPT)[1:]
    return {line: said for line, _, said in (case.partition("\n") for case in cases)}


def record() -> None:
    with (
        tempfile.TemporaryDirectory() as made,
        tempfile.TemporaryDirectory() as configuration,
        open(RECORDED, "w", encoding="utf-8") as file,
    ):
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = configuration
        example_files.write(Path(made))
        prepare(Path(made))
        for found in COMMANDS:
            os.chdir(made)
            for words in list(lines(found)):
                with tempfile.TemporaryDirectory() as folder:
                    at = Path(folder) / "inputs"
                    shutil.copytree(made, at)
                    os.chdir(at)
                    outcome = run(words)
                    os.chdir(made)
                said = f"{outcome.err or outcome.out}\n" if outcome.status else RIGHT
                file.write(f"{PROMPT}{' '.join(words)}\n{said}")


if __name__ == "__main__":
    record()
