"""The process that answers: `python -P -m yantra.ui.worker BYTES FOLDER OFFERED FILE...`.

A line of JSON per question and answer; it may take BYTES of memory and runs no code but these
plug-in files. OFFERED: what the page offers, as JSON; FOLDER: pasted texts meanwhile. It can be
ended at any moment, and ends after its answer if it has grown.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import IO, Any, NamedTuple

import yantra
from yantra.base import trust
from yantra.base.children import end_with
from yantra.base.errors import (
    CapacityError,
    ConfigError,
    InternalError,
    YantraError,
    internal_error,
)
from yantra.base.memory import limited
from yantra.export import report
from yantra.kinds import plugged_in
from yantra.ui import controls, jobs, own
from yantra.ui.answer import answer as result_answer
from yantra.ui.answer import lacking
from yantra.ui.controls import Offered
from yantra.ui.page import SHEETS
from yantra.ui.question import place, scenario
from yantra.ui.sheets import Sheet

MOST_KEPT = 384 << 20
"""Bytes a process may keep between questions."""

_INSTALLED = os.path.dirname(os.path.abspath(yantra.__file__))
_RESIDENT = re.compile(rb"^VmRSS:\s+(\d+) kB", re.MULTILINE)


def main() -> int:
    end_with(os.getppid())
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # libraries' prints are no answer
    most, folder, offered, *plugins = sys.argv[1:]
    room = Room(folder, Offered(*map(tuple, json.loads(offered))))
    refusal = _limit(int(most))
    trust.close_store()
    trust.allow(*plugins)
    with ExitStack() as stack:
        try:
            stack.enter_context(plugged_in(plugins))
        except YantraError as error:  # a file changed since the server's start
            refusal = _problem(error)
        _answer_all(questions, answers, room, refusal)
    return 0


class Room(NamedTuple):
    """Folder of pasted texts, and what the server was started with."""

    folder: str
    offered: Offered


def _answer_all(
    questions: IO[bytes], answers: IO[bytes], room: Room, refusal: dict[str, Any] | None
) -> None:
    while line := questions.readline():
        told = json.dumps(refusal or answer(json.loads(line), room)).encode()
        answers.write(b"%d\n%b" % (len(told), told))
        answers.flush()
        if _resident() > MOST_KEPT:
            break


def _limit(most: int) -> dict[str, Any] | None:
    try:
        limited(most).__enter__()
    except ConfigError as error:
        return _problem(error)
    return None


def answer(question: dict[str, Any], room: Room) -> dict[str, Any]:
    act, _, of = question["act"].partition(" ")
    if of:
        return _of_sheet(SHEETS[of], act, question["form"], room)
    form: dict[str, str] = {}
    try:
        form = controls.read(question["form"], room.offered)
        with own.files(form, room.folder) as form:
            try:
                told = _ACTS[question["act"]](form)
            except CapacityError as error:
                return _with_memory(_problem(error, form, room.folder), form)
        if isinstance(told, str):  # a page, which may name such files
            told = own.without_folder(told, room.folder)
        return {"status": 200, "told": told}
    except YantraError as error:
        return _problem(error, form, room.folder)
    except Exception as error:
        return _problem(internal_error(error), form, room.folder)


def _of_sheet(sheet: Sheet, act: str, form: Any, room: Room) -> dict[str, Any]:
    try:
        asked = sheet.read(form, room.offered)
        return {"status": 200, "told": {"run": sheet.answer, "report": sheet.report}[act](asked)}
    except YantraError as error:
        told = _problem(error)
        return told | {"told": told["told"] | {"control": sheet.place(error)}}
    except Exception as error:
        return _problem(internal_error(error))


def _problem(
    error: YantraError, form: Mapping[str, str] | None = None, folder: str = ""
) -> dict[str, Any]:
    status = 500 if error.exit_code == InternalError.exit_code else 400
    told = str(error).replace(_INSTALLED, "yantra")
    told = own.without_folder(told, folder) if folder else told
    return {"status": status, "told": {"error": told, "control": place(error, form or {})}}


def _with_memory(refusal: dict[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    seen = lacking(scenario({**form, "ignore_memory": "yes"}))
    return {"status": refusal["status"], "told": refusal["told"] | seen}


def _resident() -> int:
    try:
        with open("/proc/self/status", "rb") as file:
            found = _RESIDENT.search(file.read())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


_ACTS: dict[str, Callable[[Mapping[str, str]], Any]] = {
    "run": lambda form: result_answer(jobs.run(form)),
    "plan": jobs.best,
    "report": lambda form: report.html(jobs.recorded(jobs.run(form))),
}

if __name__ == "__main__":
    sys.exit(main())
