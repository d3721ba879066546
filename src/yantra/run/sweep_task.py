"""One scenario of a sweep, run here or on another machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from os import path as paths
from typing import Any, NamedTuple

from yantra import __version__, _core
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
    """A scenario, its result's place, and what exists.

    `known`, `inputs`: what a whole result in `file` says of itself. `at_run` gets the result where
    made, before its file is written.
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
    """A result, its text, or an error; None: the existing one.

    `note`: why an existing one is not.
    """

    outcome: Result | bytes | YantraError | None
    note: str = ""


class Away(NamedTuple):
    """What another process needs to run tasks."""

    folder: str
    plugged: tuple[tuple[str, str], ...]
    version: str
    allowed: tuple[Any, ...] = ()


def perform(task: Task, tell: Callable[[int, int], None]) -> Answer:
    """Run a task's scenario; errors, ours included, are its answer."""
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
    """A result comes back as its file's bytes."""
    refused = _entered(away)
    if refused is not None:
        return Answer(refused)
    _core.limit_cores(1)
    answer = perform(task, lambda _done, _total: None)
    if not isinstance(answer.outcome, Result):
        return answer
    return answer._replace(outcome=_text_of(answer.outcome, task))


def call_away(given: Any, shared: tuple[Callable[[Any], Any], Away]) -> Any:
    function, away = shared
    refused = _entered(away)
    return function(given) if refused is None else refused


def _entered(away: Away) -> YantraError | None:
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
    folder = paths.dirname(task.file) if task.file else ""
    text: str = exporter("json").text(result, folder=folder, case=task.told)
    return text.encode()


def _loaded(given: Given) -> Scenario:
    if isinstance(given, Scenario):
        return given
    case = given if isinstance(given, Case) else Case(given)
    return load(case.path, cluster=case.cluster, settings=case.settings)


Keep = Callable[[int, Any], Any]
"""Called with a scenario's number and result; its value replaces the result."""
