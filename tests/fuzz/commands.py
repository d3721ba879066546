"""Runs a command as its user does, for readers whose input is a whole run.

A command ends with 0, or with 2 or 3 and a text that says what is wrong: that text is its outcome.
Any other status is a failure; 70 is a bug in Yantra.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from yantra.base.errors import YantraError
from yantra.cli import main


def status_of(arguments: Sequence[str], folder: Path | None = None) -> int:
    """Run a command in a folder. Raises YantraError with its text where it refuses its input."""
    errors = StringIO()
    with _inside(folder), redirect_stdout(StringIO()), redirect_stderr(errors):
        try:
            status = main(list(arguments))
        except SystemExit as ended:  # argparse's
            status = ended.code if isinstance(ended.code, int) else 1
    if status in (2, 3):
        raise YantraError(errors.getvalue())
    if status != 0:
        raise RuntimeError(f"status {status}: {errors.getvalue()}")
    return status


@contextmanager
def _inside(folder: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)
