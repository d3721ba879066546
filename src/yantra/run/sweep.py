"""Many scenarios, run side by side; results in the order of the scenarios.

Where they run, a backend says (`backends/`); each gives the same bits. What of them is finished
already, and what becomes of a result, is decided here, in the process that asked.
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
"""Called now and then, by one thread at a time, with the runs that ended, those under way counted
by the share of their nodes that is done, and the runs in all; None if nobody can know them yet."""

Found = Callable[[int, str], None]
"""Called with the number of a scenario whose result was there, and why it is run again all the
same; the text is empty if it is not."""

_ENDING = ".json"


class _Board:
    """How far each run is, told by the threads; and whether they shall go on."""

    def __init__(self, progress: SweepProgress | None, total: int | None) -> None:
        self.is_stopped = False
        self._progress = progress
        self._total = total
        self._ended = 0
        self._shares: dict[int, float] = {}
        self._lock = Lock()

    def at(self, number: int, done: int, total: int) -> None:
        """Note how many nodes of a run are done. Raises StoppedError if it shall not go on."""
        if self.is_stopped:
            raise StoppedError
        if self._progress:
            with self._lock:
                self._shares[number] = done / total if total else 0.0
                self._tell()

    def end(self, number: int) -> None:
        """Note that a run has ended."""
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
    """Run scenarios, or scenario files, and yield their results in their order.

    A `yantra.scenario.Case` is a file with the cluster that it runs on, or settings. A scenario
    that cannot run yields its error in place of a result. `threads` runs go on at a time, one per
    core unless given. Scenarios are taken from the iterable as threads get free, and no more than
    four per thread are under way or done and not yet taken: memory does not grow with their number,
    and the iterable may be endless. `keep(number, result)`, if given, is called by the thread that
    ran a scenario as soon as it ends, `number` counts from 0; what it returns is yielded in place
    of the result, and what it raises ends the sweep. `fold` is that of `yantra.run.simulate.run`.

    `output` is a folder for the results as JSON, each named by `result_names`; all scenarios are
    then taken at once. With `resume`, those whose result is there, whole, and of the same scenario
    and version do not run: they yield it as a `StoredResult`. `found(number, why)` is called for
    each scenario whose result is there, with why it is run again; without it, that is a Python
    warning. `at_run(result)` is called where a scenario ran, before its file is written.

    `backend` says where scenarios run: `local`, in threads of this process, or `ray`, on the
    machines of a Ray cluster, which gives results as `StoredResult`; or a file with one.

    If the iterator is closed, or interrupted, runs under way end within a million events and no
    other starts. Raises ConfigError for `threads` below 1, a folder that cannot be made and a
    backend that nobody knows, UnsupportedError for one whose package is missing.
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
    """Return the files that a sweep of these scenarios writes."""
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
    """What is done with the tasks and the answers of one sweep."""

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
    """Write the file of a result, if it has one; return the result.

    Raises ConfigError where it cannot be written: a full disk ends no other scenario.
    """
    if isinstance(outcome, Result):
        if task.file is not None:
            outcome.export("json", task.file, case=task.told)
        return outcome
    if task.file is not None:
        with whole_bytes(task.file) as file:
            file.write(outcome)
    return exporter("json").read(outcome.decode(), task.file or f"scenario {task.number}")
