"""Commands on a pseudo-terminal: what a person would see, escape codes included."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

COMMAND = "import sys; from yantra.cli import main; sys.exit(main())"
_LONGEST_S = 120
_ENVIRONMENT = {"TERM": "xterm-256color", "COLUMNS": "80"}
_LEAVE_OUT = ("NO_COLOR", "FORCE_COLOR")


class Seen(NamedTuple):
    status: int
    terminal: str
    piped: str


def see(
    arguments: list[str],
    folder: Path,
    *,
    environment: dict[str, str] | None = None,
    pipe: str = "",
    code: str = COMMAND,
    at: str = "",
    send: signal.Signals = signal.SIGINT,
) -> Seen:
    """Run a command on a terminal; `pipe` names the stream ("stdout", "stderr") that is a pipe.

    Once the terminal shows the text `at`, if one is given, the command gets a signal.
    """
    ours, its = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in _LEAVE_OUT}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=kept | _ENVIRONMENT | (environment or {}),
        stdin=its,
        stdout=subprocess.PIPE if pipe == "stdout" else its,
        stderr=subprocess.PIPE if pipe == "stderr" else its,
        start_new_session=True,
    ) as process:
        os.close(its)
        shown = _read(ours, at.encode(), lambda: process.send_signal(send))
        piped = process.stdout or process.stderr
        rest = piped.read() if piped else b""
        status = process.wait(_LONGEST_S)
    os.close(ours)
    return Seen(status, shown.decode(), rest.decode())


def _read(terminal: int, at: bytes, then: Callable[[], None]) -> bytes:
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed, on Linux
            return shown
        if not piece:
            return shown
        shown += piece
        if at and at in shown:
            then()
            at = b""
