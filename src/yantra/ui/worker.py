"""The process that runs what the controls say: `python -P -m yantra.ui.worker BYTES FILE...`.

It takes a line of JSON for each question and answers with one, as long as the server lives; of its
memory it may take BYTES, and it runs the code of no file but these plug-ins. A process of its own
can be ended at any moment, and gives back what it took: one that has grown ends after its answer.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

import yantra
from yantra.base import trust
from yantra.base.children import end_with
from yantra.base.errors import ConfigError, InternalError, YantraError, internal_error
from yantra.base.memory import limited
from yantra.export import report
from yantra.kinds import plugged_in
from yantra.ui import jobs

MOST_KEPT = 384 << 20
"""Bytes of memory that a process may keep between two questions."""

_INSTALLED = os.path.dirname(os.path.abspath(yantra.__file__))
_RESIDENT = re.compile(rb"^VmRSS:\s+(\d+) kB", re.MULTILINE)


def main() -> int:
    """Answer questions until there are no more."""
    end_with(os.getppid())
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    most, *plugins = sys.argv[1:]
    refusal = _limit(int(most))
    trust.close_store()
    trust.allow(*plugins)
    with ExitStack() as stack:
        try:
            stack.enter_context(plugged_in(plugins))
        except YantraError as error:  # a file has changed since the server was started
            refusal = _problem(error)
        _answer_all(questions, answers, refusal)
    return 0


def _answer_all(questions: IO[bytes], answers: IO[bytes], refusal: dict[str, Any] | None) -> None:
    while line := questions.readline():
        told = json.dumps(refusal or answer(json.loads(line))).encode()
        answers.write(b"%d\n%b" % (len(told), told))
        answers.flush()
        if _resident() > MOST_KEPT:
            break


def _limit(most: int) -> dict[str, Any] | None:
    """Limit the memory of this process for good; return what is told where that cannot be."""
    try:
        limited(most).__enter__()
    except ConfigError as error:
        return _problem(error)
    return None


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return the status of HTTP for a question, and what is told."""
    try:
        job = jobs.read(question["form"])
        return {"status": 200, "told": _ACTS[question["act"]](job)}
    except YantraError as error:
        return _problem(error)
    except Exception as error:
        return _problem(internal_error(error))


def _problem(error: YantraError) -> dict[str, Any]:
    status = 500 if error.exit_code == InternalError.exit_code else 400
    return {"status": status, "told": {"error": str(error).replace(_INSTALLED, "yantra")}}


def _resident() -> int:
    """Return the bytes that the process has in memory, 0 if nothing says."""
    try:
        with open("/proc/self/status", "rb") as file:
            found = _RESIDENT.search(file.read())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


_ACTS: dict[str, Callable[[jobs.Job], Any]] = {
    "run": lambda job: jobs.answer(jobs.run(job)),
    "plan": jobs.best,
    "report": lambda job: report.html(jobs.recorded(jobs.run(job))),
}

if __name__ == "__main__":
    status = main()
    os._exit(status)
