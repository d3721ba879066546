"""A process that runs one job and ends, in a session of its own: ending it ends its children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

TOKEN = "YANTRA_SERVICE_TOKEN"
"""The service's token; jobs do not see it."""

_COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "yantra.service.job")


class Worker:
    """A process of `job.py`."""

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
        return self._process.poll() is None

    def start(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; `wait` sees it
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.close()

    def wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
