"""Many scenarios side by side, results in their order.

A backend (`backends/`) runs them, all with the same bits; what is finished and what becomes of
results is decided here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from os import path as paths
from threading import Lock
from typing import Any, Literal, TypeVar, overload

from yantra.base.documents import Path
from yantra.base.errors import ConfigError, YantraError, expected_got
from yantra.base.output import make_folder, remove_leftovers, whole_bytes
from yantra.base.plugin_files import Named
from yantra.result import Result
from yantra.result.forms import exporter
from yantra.run.backends import backends
from yantra.run.backends.backend import Work
from yantra.run.finished import read_finished, told_of
from yantra.run.result_names import result_names
from yantra.run.sweep_task import Answer, Given, Keep, StoppedError, Task
from yantra.scenario.types import Fold

T = TypeVar("T")

SweepProgress = Callable[[float, int | None], None]
"""Called by one thread at a time with runs ended, with shares, and runs in all or None."""

Found = Callable[[int, str], None]
"""Called with a scenario's number and why its result is made again, or ""."""

_ENDING = ".json"


class _Board:
    def __init__(self, progress: SweepProgress | None, total: int | None) -> None:
        self.is_stopped = False
        self._progress = progress
        self._total = total
        self._ended = 0
        self._shares: dict[int, float] = {}
        self._lock = Lock()

    def at(self, number: int, done: int, total: int) -> None:
        # Raises StoppedError if it shall not go on.
        if self.is_stopped:
            raise StoppedError
        if self._progress:
            with self._lock:
                self._shares[number] = done / total if total else 0.0
                self._tell()

    def end(self, number: int) -> None:
        if self._progress and not self.is_stopped:
            with self._lock:
                self._shares.pop(number, None)
                self._ended += 1
                self._tell()

    def _tell(self) -> None:
        if self._progress:
            self._progress(self._ended + sum(self._shares.values()), self._total)


@overload
def sweep(
    scenarios: Iterable[Given],
    threads: int | None = None,
    *,
    keep: None = None,
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
    output: Path | None = None,
    resume: Literal[False] = False,
    found: Found | None = None,
    at_run: Callable[[Result], object] | None = None,
    backend: Literal["local"] = "local",
) -> Generator[Result | YantraError, None, None]: ...


@overload
def sweep(
    scenarios: Iterable[Given],
    threads: int | None = None,
    *,
    keep: None = None,
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
    output: Path | None = None,
    resume: bool = False,
    found: Found | None = None,
    at_run: Callable[[Result], object] | None = None,
    backend: Named = "local",
) -> Generator[Any, None, None]: ...


@overload
def sweep(
    scenarios: Iterable[Given],
    threads: int | None = None,
    *,
    keep: Callable[[int, Any], T],
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
    output: Path | None = None,
    resume: bool = False,
    found: Found | None = None,
    at_run: Callable[[Result], object] | None = None,
    backend: Named = "local",
) -> Generator[T | YantraError, None, None]: ...


def sweep(
    scenarios: Iterable[Given],
    threads: int | None = None,
    *,
    keep: Keep | None = None,
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
    output: Path | None = None,
    resume: bool = False,
    found: Found | None = None,
    at_run: Callable[[Result], object] | None = None,
    backend: Named = "local",
) -> Generator[Any, None, None]:
    """Run scenarios or their files; yield results in order, errors in their place.

    A `yantra.scenario.Case` is a file with its cluster, or settings. `threads` (default: cores) run
    at a time; up to four per thread are ahead, so the iterable may be endless. `keep(number,
    result)` is called by the thread at a run's end; its value replaces the result, its error ends
    the sweep. `fold` as in `yantra.run.simulate.run`.

    `output`: folder of JSON results named by `result_names`; all scenarios are then taken at once.
    `resume` skips those with a whole result of the same scenario and version, yielding a
    `StoredResult`. `found(number, why)` is called for each existing result, with why it runs again;
    default: a Python warning. `at_run(result)` is called before the file is written.

    `backend`: `local` (threads), `ray` (a Ray cluster; yields `StoredResult`), or a file.

    When closed or interrupted, runs end within a million events and none starts. Raises ConfigError
    for `threads` below 1, a folder that cannot be made or an unknown backend, UnsupportedError for
    a missing package.
    """
    if threads is not None and threads < 1:
        raise ConfigError("threads", expected_got("a number of at least 1", threads))
    if resume and output is None:
        raise ConfigError("resume", "needs output, the folder of the results")
    runs = backends.get(backend, "backend")(threads)
    files: list[str] | None = None
    if output is not None:
        scenarios = list(scenarios)
        files = result_files(scenarios, output)
        make_folder(output)
        remove_leftovers(files)
    total = len(scenarios) if isinstance(scenarios, Sized) else None
    work = _Work(_Board(progress, total), keep, resume, found or _warn)
    return runs.run(_tasks(scenarios, fold, at_run, files), work)


def result_files(scenarios: Iterable[Given], output: Path) -> list[str]:
    """Files a sweep of these scenarios writes."""
    return [paths.join(output, name + _ENDING) for name in result_names(list(scenarios))]


def _warn(_number: int, why: str) -> None:
    if why:
        warnings.warn(f"{why}; it is run again", stacklevel=2)


def _tasks(
    scenarios: Iterable[Given],
    fold: Fold | None,
    at_run: Callable[[Result], object] | None,
    files: list[str] | None,
) -> Iterator[Task]:
    for number, given in enumerate(scenarios):
        task = Task(number, given, fold, at_run)
        if files is not None:
            file = files[number]
            task = task._replace(file=file, told=told_of(given, fold, file))
        yield task


class _Work(Work):
    def __init__(self, board: _Board, keep: Keep | None, resume: bool, found: Found) -> None:
        self._board = board
        self._keep = keep
        self._resume = resume
        self._found = found
        self._there: dict[int, Any] = {}

    def before(self, task: Task) -> Task:
        if not self._resume or task.file is None or task.told is None:
            return task
        stored, why = read_finished(task.file, task.told)
        if stored is None:
            if why:
                self._found(task.number, why)
            return task
        self._there[task.number] = stored
        return task._replace(known=stored.form["case"], inputs=stored.form["inputs"])

    def after(self, task: Task, answer: Answer) -> Any:
        there = self._there.pop(task.number, None)
        if there is not None:
            self._found(task.number, answer.note)
        self._board.end(task.number)
        if isinstance(answer.outcome, YantraError):
            return answer.outcome
        try:
            result = there if answer.outcome is None else _written(task, answer.outcome)
        except ConfigError as error:
            return error
        return self._keep(task.number, result) if self._keep else result

    def told(self, number: int) -> Callable[[int, int], None]:
        return lambda done, total: self._board.at(number, done, total)

    def stop(self) -> None:
        self._board.is_stopped = True


def _written(task: Task, outcome: Result | bytes) -> Any:
    # A full disk ends no other scenario: ConfigError.
    if isinstance(outcome, Result):
        if task.file is not None:
            outcome.export("json", task.file, case=task.told)
        return outcome
    if task.file is not None:
        with whole_bytes(task.file) as file:
            file.write(outcome)
    return exporter("json").read(outcome.decode(), task.file or f"scenario {task.number}")
