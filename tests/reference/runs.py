"""One job on ASTRA-sim's binary and on `yantra astra-sim`: do their finish lines agree?

Compared are the lines that say when a rank finished and what it exposed, in their order. Where the
binary stops half-way, those it printed are compared with ours. It crashes on some sound jobs after
it has printed every line, so its exit status says nothing.
"""

from __future__ import annotations

import io
import re
import signal
import subprocess
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from tests.reference import jobs
from yantra.cli import main

LONGEST_SECONDS = 60
_LINE = re.compile(r"sys\[(\d+)\] finished, (\d+) cycles, exposed communication (\d+) cycles")


class Finish(NamedTuple):
    """A finish line: a rank, its last tick, the ticks that no kernel hides."""

    rank: int
    tick: int
    exposed: int


class Verdict(NamedTuple):
    """`equal`, `different`, or which of the two did not complete; what each said."""

    name: str
    kind: str
    text: str = ""


def finishes(text: str) -> list[Finish]:
    """Read the finish lines of a log."""
    return [Finish(*map(int, found.groups())) for found in _LINE.finditer(text)]


def reference(binary: Path, files: jobs.Files) -> tuple[list[Finish], str]:
    """Run the binary; return its finish lines and the end of what it said."""
    command = [str(binary), *files.options(), f"--logging-folder={files.folder / 'theirs'}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LONGEST_SECONDS, cwd=files.folder
        )
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        return finishes(out.decode() if isinstance(out, bytes) else out), "takes too long"
    said = (done.stdout + done.stderr).strip().splitlines()
    return finishes(done.stdout), f"status {done.returncode}: {said[-1][-200:] if said else ''}"


def ours(backend: str, files: jobs.Files) -> tuple[list[Finish], str]:
    """Run `yantra astra-sim` in this process; return its finish lines and its errors."""
    out, err = io.StringIO(), io.StringIO()
    command = [
        *("astra-sim", *files.options(), f"--network-backend=congestion-{backend}"),
        f"--logging-folder={files.folder / 'ours'}",
    ]
    signal.alarm(LONGEST_SECONDS)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(command)
    finally:
        signal.alarm(0)
    return finishes(out.getvalue()), f"status {status}: {err.getvalue().strip()[-300:]}"


def compared(kind: str, seed: int, backend: str, binary: Path) -> Verdict:
    """Run one job on both and say how they compare."""
    name = f"{kind} {seed} {backend}"
    with tempfile.TemporaryDirectory() as folder:
        files = jobs.write(kind, seed, Path(folder))
        theirs, said = reference(binary, files)
        mine, told = ours(backend, files)
    if len(theirs) == files.ranks:
        if mine == theirs:
            return Verdict(name, "equal")
        if len(mine) < files.ranks:
            return Verdict(name, "only the reference completes", told)
        return Verdict(name, "different", f"{_first_difference(mine, theirs)}")
    if len(mine) == files.ranks:
        unlike = {each.rank: each for each in theirs}
        if any(unlike.get(each.rank, each) != each for each in mine):
            return Verdict(name, "different before the reference stops", said)
        return Verdict(name, "only Yantra completes", said)
    known = "status 2" in told[:8] or "status 3" in told[:8]
    return Verdict(name, "neither completes" if known else "fault", f"{told} / {said}")


def _first_difference(mine: list[Finish], theirs: list[Finish]) -> str:
    at = next(at for at, pair in enumerate(zip(mine, theirs, strict=True)) if pair[0] != pair[1])
    return f"line {at}: {mine[at]}, reference {theirs[at]}"
