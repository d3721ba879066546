"""One scenario of a sweep: what is asked, and running it, here or on another machine.

What crosses to another machine can be pickled: a task goes there, an answer comes back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from os import path as paths
from typing import Any, NamedTuple

from yantra import __version__
from yantra._core import Stopped
from yantra.base import trust
from yantra.base.documents import Path
from yantra.base.errors import ConfigError, UnsupportedError, YantraError, internal_error
from yantra.base.registry import plug_in_files
from yantra.compile import compile
from yantra.result import Result
from yantra.result.forms import exporter
from yantra.run.finished import Told, difference
from yantra.run.simulate import run
from yantra.scenario import Case, Scenario, load
from yantra.scenario.types import Fold

Given = Scenario | Path | Case


class StoppedError(Exception):
    """Nobody wants the rest of this run."""


class Task(NamedTuple):
    """What is asked: a scenario, where its result goes if anywhere, and what is there already.

    `known` and `inputs` are what a whole result in `file` says of itself. `at_run` is called with
    the result where it was made, before its file is written.
    """

    number: int
    given: Given
    fold: Fold | None = None
    at_run: Callable[[Result], object] | None = None
    file: str | None = None
    told: Told | None = None
    known: Told | None = None
    inputs: Mapping[str, str] | None = None


class Answer(NamedTuple):
    """What came of a task: a result, its text, or an error; None if the one that is there is it.

    `note` says why one that was there is not.
    """

    outcome: Result | bytes | YantraError | None
    note: str = ""


class Away(NamedTuple):
    """What another process needs to know to run tasks as this one would."""

    folder: str
    plugged: tuple[tuple[str, str], ...]
    version: str
    allowed: tuple[Any, ...] = ()


def perform(task: Task, tell: Callable[[int, int], None]) -> Answer:
    """Run the scenario of a task; an error is its answer, a fault of ours included.

    `tell` is called with nodes done and nodes in all, and may raise StoppedError.
    """
    note = ""
    try:
        tell(0, 1)
        scenario = _loaded(task.given)
        if task.known is not None and task.file is not None:
            note = difference(task.known, task.inputs or {}, scenario, task.file)
            if not note:
                return Answer(None)
        result = run(compile(scenario), progress=tell, fold=task.fold)
        if task.at_run:
            task.at_run(result)
        return Answer(result, note)
    except (StoppedError, Stopped):
        raise StoppedError from None
    except YantraError as error:
        # Its traceback would keep the model alive.
        error.__context__ = None
        return Answer(error.with_traceback(None), note)
    except Exception as error:
        internal = internal_error(error)
        internal.__cause__ = error
        return Answer(internal, note)


def perform_away(task: Task, away: Away) -> Answer:
    """Run a task in another process, in the folder and with the plug-ins of the one that asks.

    A result comes back as the text of its file, the same bytes as that one would write.
    """
    refused = _entered(away)
    if refused is not None:
        return Answer(refused)
    answer = perform(task, lambda _done, _total: None)
    if not isinstance(answer.outcome, Result):
        return answer
    return answer._replace(outcome=_text_of(answer.outcome, task))


def call_away(given: Any, shared: tuple[Callable[[Any], Any], Away]) -> Any:
    """Call a function in another process, likewise; an error is its answer."""
    function, away = shared
    refused = _entered(away)
    return function(given) if refused is None else refused


def _entered(away: Away) -> YantraError | None:
    """Be where the process that asks is, with its plug-ins; return why that cannot be."""
    import socket

    host = socket.gethostname()
    if away.version != __version__:
        problem = f"Yantra {__version__} on {host}, {away.version} here; install the same on both"
        return UnsupportedError(problem)
    try:
        os.chdir(away.folder)
        trust.take(away.allowed)
        plug_in_files(away.plugged)
    except OSError as error:
        problem = f"cannot be entered on {host}: {error.strerror}; machines must share their files"
        return ConfigError(away.folder, problem)
    except YantraError as error:
        return error
    return None


def _text_of(result: Result, task: Task) -> bytes:
    """Return the content of the file of a result."""
    folder = paths.dirname(task.file) if task.file else ""
    text: str = exporter("json").text(result, folder=folder, case=task.told)
    return text.encode()


def _loaded(given: Given) -> Scenario:
    if isinstance(given, Scenario):
        return given
    case = given if isinstance(given, Case) else Case(given)
    return load(case.path, cluster=case.cluster, settings=case.settings)


Keep = Callable[[int, Any], Any]
"""Called with the number of a scenario and its result; what it returns stands for the result."""
