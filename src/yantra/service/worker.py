"""A process that waits for one job, runs it and ends.

One is started ahead of need, so a job does not wait for imports. It gets a session of its own, so
ending it ends what it has started, and a Ctrl-C meant for the server does not reach it. Where the
server is killed, it ends, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

TOKEN = "YANTRA_SERVICE_TOKEN"
"""The variable with the service's token, which is none of a job's business."""

_COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "yantra.service.job")


class Worker:
    """One process of `job.py`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={name: text for name, text in os.environ.items() if name != TOKEN},
        )

    @property
    def is_alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def start(self, order: dict[str, Any]) -> None:
        """Give it its job."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; `wait` tells
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.close()

    def wait(self, seconds: float) -> int | None:
        """Return the exit status, or None if it is still running."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """End it now, if it runs."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
