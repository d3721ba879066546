"""Runs a command for readers whose input is a whole run: 0, or 2 or 3 and a text; anything else
fails.
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
    """Raises YantraError with its text where it refuses its input."""
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
