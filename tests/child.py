"""Runs a command of Yantra in a forked child, which need not import again."""

from __future__ import annotations

import os
import resource
import signal
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import TextIOBase
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended: its status (None if it did not end), its output, its peak bytes."""

    status: int | None
    text: str
    peak_bytes: int


def in_child(command: list[str], longest_s: float) -> Ended:
    with tempfile.TemporaryFile("w+", errors="backslashreplace") as out:
        child = os.fork()
        if child == 0:
            _run_and_exit(command, out)
        try:
            status, peak = _waited(child, longest_s)
        except BaseException:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise
        out.seek(0)
        return Ended(status, out.read(), peak)


def _waited(child: int, longest_s: float) -> tuple[int | None, int]:
    end = time.monotonic() + longest_s
    pause = 0.001
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None, 0
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    # A process starts with its parent's peak, which says nothing about its own.
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = usage.ru_maxrss if usage.ru_maxrss > inherited else 0
    return os.waitstatus_to_exitcode(status), peak * 1024


def _run_and_exit(command: list[str], out: TextIOBase) -> None:
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        from yantra.cli import main

        with redirect_stdout(out), redirect_stderr(out):  # type: ignore[type-var]
            code = main(command)
        out.flush()
    finally:
        os._exit(code)
