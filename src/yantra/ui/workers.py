"""Keeps the processes of `worker.py`."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from secrets import token_hex
from shutil import rmtree
from tempfile import gettempdir
from typing import Any, NamedTuple

from yantra.base import trust
from yantra.base.cores import cores
from yantra.base.memory import limit
from yantra.base.units import format_time
from yantra.ui.controls import Offered

_COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "yantra.ui.worker")
_FEWEST, _MOST = 2, 4
_LONGEST_WAIT_S = 60.0
_SLICE_S = 0.25


class Limits(NamedTuple):
    """Seconds and bytes for a question; default: a share of free memory."""

    time_s: float = 600.0
    memory_bytes: int | None = None


class GoneError(Exception):
    """The client is gone."""


class Answer(NamedTuple):
    status: int
    told: Any


class Workers:
    """A few processes, one kept ready; thread-safe."""

    def __init__(self, limits: Limits, offered: Offered | None = None) -> None:
        self._limits = limits
        self._offered = offered or Offered()
        most = min(max(cores(), _FEWEST), _MOST)
        self._memory = limits.memory_bytes or limit().bytes // most
        self._free = threading.Condition()
        self._left = most  # questions that may begin now
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._is_closed = False
        self._put_back(self._new())

    def ask(self, act: str, form: Any, client: socket.socket) -> Answer:
        """Answer a question.

        Raises GoneError if the client leaves first.
        """
        if not self._may_begin(client):
            problem = "other runs and searches take all there is; stop one, or wait"
            return Answer(503, {"error": problem})
        process = None
        try:
            with self._free:
                process = self._idle.pop() if self._idle else None
            if process is None or not process.is_alive:
                process = self._new()
            found = process.ask({"act": act, "form": form}, client, self._limits.time_s)
        except BaseException:
            if process is not None:
                process.end()
            raise
        finally:
            with self._free:
                self._left += 1
                self._free.notify()
            self._put_back(process)
        return found

    @property
    def processes(self) -> tuple[Process, ...]:
        with self._free:
            return tuple(one for one in self._all if one.is_alive)

    def close(self) -> None:
        with self._free:
            self._is_closed = True
            there, self._idle = tuple(self._all), []
        for process in there:
            process.end()

    def _may_begin(self, client: socket.socket) -> bool:
        deadline = time.monotonic() + _LONGEST_WAIT_S
        with self._free:
            while not self._left:
                if time.monotonic() > deadline:
                    return False
                self._free.wait(_SLICE_S)
                _check_there(client)
            self._left -= 1
            return True

    def _new(self) -> Process:
        process = Process(self._memory, self._offered)
        with self._free:
            self._all = {one for one in self._all if one.is_alive} | {process}
            is_closed = self._is_closed
        if is_closed:
            process.end()
        return process

    def _put_back(self, process: Process | None) -> None:
        if process is not None and not process.is_alive:
            process.end()
            process = None
        with self._free:
            is_wanted = not self._idle and not self._is_closed
            if is_wanted and process is not None:
                self._idle.append(process)
                return
        if process is not None:
            process.end()
        elif is_wanted:
            self._put_back(self._new())


class Process:
    """A process of `worker.py`."""

    def __init__(self, memory_bytes: int, offered: Offered) -> None:
        self.is_busy = False
        """Whether a question is unanswered."""
        self._folder = os.path.join(gettempdir(), f"yantra-ui-{token_hex(8)}")
        told = (str(memory_bytes), self._folder, json.dumps(offered))
        self._process = subprocess.Popen(
            (*_COMMAND, *told, *trust.files()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, question: dict[str, Any], client: socket.socket, seconds: float) -> Answer:
        try:
            return self._asked(question, client, seconds)
        except ValueError:  # whoever ended it closed its pipes
            if self.is_alive:
                raise
            raise GoneError from None

    def _asked(self, question: dict[str, Any], client: socket.socket, seconds: float) -> Answer:
        assert self._process.stdin is not None and self._process.stdout is not None
        self.is_busy = True
        with suppress(BrokenPipeError):  # it has ended
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
        if not self._has_answered(client, time.monotonic() + seconds):
            self.end()
            most = format_time(seconds * 1e9)
            problem = f"takes longer than {most}; yantra ui --time-limit sets another limit"
            return Answer(504, {"error": problem})
        length = self._process.stdout.readline()
        told = self._process.stdout.read(int(length)) if length else b""
        if not length or len(told) < int(length):
            self.end()
            problem = "the run was ended from outside, perhaps for lack of memory"
            return Answer(500, {"error": problem})
        self.is_busy = False
        return Answer(**json.loads(told))

    def end(self) -> None:
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
        self._process.wait()
        rmtree(self._folder, ignore_errors=True)  # it was ended during a question
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()

    def _has_answered(self, client: socket.socket, deadline: float) -> bool:
        watched = select.poll()
        assert self._process.stdout is not None
        watched.register(self._process.stdout, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            if watched.poll(1000 * min(left, _SLICE_S)):
                return True
            _check_there(client)
        return False


def _check_there(client: socket.socket) -> None:
    watched = select.poll()
    try:
        watched.register(client, select.POLLIN)
        if watched.poll(0) and not client.recv(1, socket.MSG_PEEK):
            raise GoneError
    except (OSError, ValueError):
        raise GoneError from None
