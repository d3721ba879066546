"""A program that answers lines with lines: started, asked, and ended whatever it does.

It runs without a shell in its own session, so Ctrl-C reaches Yantra alone, which ends it with all
that it started.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from os import path as paths
from time import monotonic

from yantra.base import trust
from yantra.base.errors import ConfigError, UnsupportedError

LONGEST_LINE = 65_536  # bytes
_STDERR_KEPT = 4_096  # bytes
_STDERR_LINES = 10
_AT_ONCE = 1 << 16
GRACE_S = 2.0  # to end by itself


def found(program: str, where: str) -> str:
    path = program if "/" in program else shutil.which(program)
    if path is None:
        advice = f"write ./{program} if it is a file beside the scenario"
        raise ConfigError(where, f"no program {program} is on PATH; {advice}")
    if not paths.isfile(path):
        what = "is a folder" if paths.isdir(path) else "is not there"
        raise ConfigError(where, f"the program {path} {what}")
    if not os.access(path, os.X_OK):
        raise ConfigError(where, f"the program {path} may not be run; chmod +x {path} allows it")
    return path


class Process:
    """A running program."""

    def __init__(self, command: tuple[str, ...], timeout_s: float, where: str) -> None:
        self.name = command[0]
        self._timeout_s = timeout_s
        path = found(command[0], where)
        trust.require_program(command, where)
        try:
            self._child = subprocess.Popen(
                (path, *command[1:]),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            advice = "a script begins with a line like #!/usr/bin/env python3"
            problem = f"the system cannot start {path}: {error.strerror}; {advice}"
            raise ConfigError(where, problem) from None
        self._end = weakref.finalize(self, _end_all, self._child)
        pipes = (self._child.stdin, self._child.stdout, self._child.stderr)
        assert all(pipe is not None for pipe in pipes)
        self._stdin, self._stdout, self._stderr = (pipe.fileno() for pipe in pipes if pipe)
        for descriptor in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._poll = select.poll()
        self._poll.register(self._stdout, select.POLLIN)
        self._poll.register(self._stderr, select.POLLIN)
        self._lines: deque[bytes] = deque()
        self._begun = b""  # an unfinished line
        self._said = b""

    def ask(
        self, text: str, is_last: Callable[[str], bool], asked: str, most_lines: int
    ) -> list[str]:
        """Write lines, and return the answer's lines up to the first that `is_last`.

        `asked` names the question in errors. Raises UnsupportedError for a program that ends, times
        out, or writes too many lines or what is no line.
        """
        deadline = monotonic() + self._timeout_s
        left = memoryview(text.encode())
        if left:
            self._poll.register(self._stdin, select.POLLOUT)
        lines: list[str] = []
        while not lines or not is_last(lines[-1]):
            if len(lines) == most_lines:
                problem = f"it answered {asked} with more than {most_lines} lines"
                raise self.error(f"{problem}, the last of them {shown(lines[-1])}")
            line = self._line()
            if line is None:
                left = self._moved(left, deadline, asked)
            else:
                lines.append(line)
        unasked = self._lines[0] if self._lines else self._begun
        if unasked:
            raise self.error(f"it wrote {shown(unasked)} without being asked")
        if left and not lines[-1].startswith("error"):
            raise self.error(f"it wrote {shown(lines[-1])} before it had read {asked}")
        return lines

    def error(self, problem: str) -> UnsupportedError:
        self._drain()
        self.kill()
        said = self._said.decode(errors="replace").strip().splitlines()[-_STDERR_LINES:]
        told = "".join(f"\n    {line}" for line in said)
        heard = f"\n  it said on standard error:{told}" if said else ""
        return UnsupportedError(f"the network program {self.name}: {problem}{heard}")

    def end(self, text: str) -> None:
        with suppress(OSError):
            os.write(self._stdin, text.encode())
        if self._child.stdin is not None:
            with suppress(OSError):
                self._child.stdin.close()
        deadline = monotonic() + GRACE_S
        while self._child.poll() is None and (left := deadline - monotonic()) > 0:
            self._drain()
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(min(left, 0.02))
        self.kill()

    def kill(self) -> None:
        self._end()

    def _line(self) -> str | None:
        line = self._lines[0] if self._lines else self._begun
        if len(line) > LONGEST_LINE:
            problem = f"it wrote a line of more than {LONGEST_LINE} bytes, which begins with"
            raise self.error(f"{problem} {shown(line)}")
        if not self._lines:
            return None
        self._lines.popleft()
        if not line.isascii():
            raise self.error(f"it wrote {shown(line)}; expected a line of ASCII words")
        return line.decode()

    def _moved(self, left: memoryview, deadline: float, asked: str) -> memoryview:
        wait_ms = max(0, int(1000 * (deadline - monotonic())) + 1)
        ready = dict(self._poll.poll(wait_ms))
        if not ready and monotonic() >= deadline:
            problem = f"it did not answer {asked} within {self._timeout_s:g} s"
            raise self.error(f"{problem}; if it needs longer, give it a longer timeout")
        if self._stderr in ready:
            self._hear()
        if self._stdout in ready:
            self._listen(asked)
        if self._stdin in ready:
            return self._write(left)
        return left

    def _write(self, left: memoryview) -> memoryview:
        try:
            left = left[os.write(self._stdin, left[:_AT_ONCE]) :]
        except BlockingIOError:
            return left
        except BrokenPipeError:
            left = left[len(left) :]  # it ends; its output says why
        if not left:
            self._poll.unregister(self._stdin)
        return left

    def _listen(self, asked: str) -> None:
        try:
            data = os.read(self._stdout, _AT_ONCE)
        except BlockingIOError:
            return
        if data:
            *lines, self._begun = (self._begun + data).split(b"\n")
            self._lines.extend(lines)
            return
        rest = f" in the middle of a line, {shown(self._begun)}," if self._begun else ""
        self._poll.unregister(self._stdout)
        raise self.error(f"it ended{rest} before it answered {asked}{self._how_it_ended()}")

    def _how_it_ended(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            status = self._child.wait(0.5)
            if status < 0:
                return f" (killed by {signal.Signals(-status).name})"
            return f" (exit status {status})"
        return " (it closed its standard output)"

    def _hear(self) -> None:
        try:
            data = os.read(self._stderr, _AT_ONCE)
        except BlockingIOError:
            return
        if not data:
            with suppress(KeyError):
                self._poll.unregister(self._stderr)
        self._said = (self._said + data)[-_STDERR_KEPT:]

    def _drain(self) -> None:
        while self._child.stderr is not None and not self._child.stderr.closed:
            if not select.select([self._stderr], [], [], 0)[0]:
                return
            before = self._said
            self._hear()
            if self._said == before:
                return


def _end_all(child: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def shown(text: bytes | str) -> str:
    data = text.encode() if isinstance(text, str) else text
    cut = repr(data[:60].decode("latin-1"))
    return f"{cut[:-1]}...'" if len(data) > 60 else cut
