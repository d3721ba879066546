r"""Runs a page of the documentation: its Python and its commands, and compares what they print.

In the order of the page, in one folder of its own:

* ```yaml title="step.yaml" is written to that file (any language);
* ```python is run, in one namespace per page; a ```text block right after it is its output;
* ```console holds commands (`$ yantra ...`, lines after a `\` begin with `> `), run by a shell,
  each followed by its output.

Other blocks are for reading. The times of ASTRA-sim's log lines and the version of Yantra are not
compared. In an output that holds measured numbers, `~12.5` matches any number (and `~12.5 ms` any
time), a line `...` any lines, and spaces are not counted. `python` and `torchrun` are those of the
interpreter that runs the page; they find the drop-in package `chakra`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LONGEST_S = 600  # a command that hangs fails, with everything it started
_TIME = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]")
_VERSION = re.compile(r'(Yantra |yantra_version": ")\d+\.\d+[\w.+]*')
_MEASURED = (
    r"~\d+(?:\\\.\d+)?(\\ (?:ns|us|ms|s)\b)?"  # in an escaped text; with its unit of time, if any
)
_NUMBER = r"[\d.]+"
_CALL = "-c 'import sys; from {} import main; sys.exit(main())'"
_UPSTREAM = (
    "converter",
    "generator",
    "jsonizer",
    "timeline_visualizer",
    "trace_link",
    "visualizer",
)
_DROP_IN = str(Path(__file__).resolve().parents[2] / "distributions" / "chakra" / "src")
_PROGRAMS = {
    "yantra": _CALL.format("yantra.cli"),
    "python": "",
    "torchrun": "-m torch.distributed.run",
    **{f"chakra_{name}": _CALL.format(f"yantra.cli.upstream.{name}") for name in _UPSTREAM},
}


class Block(NamedTuple):
    language: str
    file: str | None
    text: str
    line: int
    begin: int
    end: int


class Difference(NamedTuple):
    where: str
    printed: str
    shown: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(*match.groups(), text.count("\n", 0, match.start()) + 1, *match.span())
        for match in _BLOCK.finditer(text)
    ]


def texts(page: Path, language: str) -> list[str]:
    return [
        block.text for block in blocks(page) if block.language == language and block.file is None
    ]


def install(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (toml,) = texts(page, "toml")
    head, entry = toml.splitlines()[:2]
    group = head.removeprefix('[project.entry-points."').removesuffix('"]')
    entry = entry.replace('"', "").replace("my_package.", "")
    info = folder / "my_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")
    monkeypatch.syspath_prepend(str(folder))


def run(page: Path, folder: Path) -> Iterator[Difference]:
    text = page.read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    for at, block in enumerate(found):
        where = f"{page.name}:{block.line}"
        if block.file is not None:
            path = folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            printed = _python(block.text, where, names)
            after = found[at + 1] if at + 1 < len(found) else None
            adjacent = after is not None and not text[block.end : after.begin].strip()
            shown = after.text if after and adjacent and after.language == "text" else ""
            yield _compared(where, printed, shown)
        elif block.language == "console":
            for command, shown in _commands(block.text):
                yield _compared(f"{where}: {command}", _shell(command, folder), _timeless(shown))


def _compared(where: str, printed: str, shown: str) -> Difference:
    printed, shown = (_VERSION.sub(r"\1[version]", text) for text in (printed, shown))
    if "~" in shown and re.fullmatch(_pattern(shown), _spaced(printed)):
        return Difference(where, shown, shown)
    return Difference(where, printed, shown)


def _pattern(shown: str) -> str:
    lines = []
    for line in _spaced(shown).splitlines(keepends=True):
        pattern = re.escape(line).replace("\\~", "~")
        any_lines = line.strip() == "..."
        lines.append(r"(?:.*\n)*?" if any_lines else re.sub(_MEASURED, _any_number, pattern))
    return "".join(lines)


def _any_number(shown: re.Match[str]) -> str:
    return _NUMBER + (r"\ (?:ns|us|ms|s)" if shown[1] else "")


def _spaced(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text)


def _python(source: str, where: str, names: dict[str, object]) -> str:
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(source, where, "exec"), names)
    return printed.getvalue()


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        while command.endswith("\\"):
            line, _, shown = shown.partition("\n")
            command += "\n" + line.removeprefix("> ")
        yield command, shown


def _shell(command: str, folder: Path) -> str:
    for name, options in _PROGRAMS.items():
        script = folder.parent / name
        if not script.exists():
            script.write_text(f"#!/bin/sh\nexec '{sys.executable}' {options} \"$@\"\n")
            script.chmod(0o755)
    done = subprocess.run(
        ["timeout", "--kill-after=60", str(_LONGEST_S), "sh", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=os.environ
        | {
            "PATH": f"{folder.parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), _DROP_IN))),
        },
    )
    return _timeless(done.stdout)


def _timeless(text: str) -> str:
    return _TIME.sub("[time]", text)
