"""Many scenarios, run on all cores; results in the order of the scenarios.

A scenario is read, compiled and run in one thread. The core releases the interpreter's lock while
it decodes, lowers, folds and runs, and a run shares nothing with others that it writes to, so runs
go on side by side and each gives the same bits on any number of threads.

Trade-off: threads, not processes. Nothing is copied between them and Ctrl-C reaches all, but what
`compile` does in Python is done by one thread at a time, so a sweep of runs shorter than their
compilation gains little from cores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Any, TypeVar, overload

from yantra.base.documents import Path
from yantra.base.errors import ConfigError, YantraError, expected_got, internal_error
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Case, Scenario, load
from yantra.scenario.types import Fold

T = TypeVar("T")

SweepProgress = Callable[[float, int | None], None]
"""Called now and then, by one thread at a time, with the runs that ended, those under way counted
by the share of their nodes that is done, and the runs in all; None if nobody can know them yet."""

_WAITING_PER_THREAD = 4
_SLICE_S = 0.2


class _StoppedError(Exception):
    """Nobody wants the rest of this run."""


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
        """Note how many nodes of a run are done. Raises _StoppedError if it shall not go on."""
        if self.is_stopped:
            raise _StoppedError
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
    scenarios: Iterable[Scenario | Path | Case],
    threads: int | None = None,
    *,
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
) -> Generator[Result | YantraError, None, None]: ...


@overload
def sweep(
    scenarios: Iterable[Scenario | Path | Case],
    threads: int | None = None,
    *,
    keep: Callable[[int, Result], T],
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
) -> Generator[T | YantraError, None, None]: ...


def sweep(
    scenarios: Iterable[Scenario | Path | Case],
    threads: int | None = None,
    *,
    keep: Callable[[int, Result], Any] | None = None,
    fold: Fold | None = None,
    progress: SweepProgress | None = None,
) -> Generator[Any, None, None]:
    """Run scenarios, or scenario files, and yield their results in their order.

    A `yantra.scenario.Case` is a file with the cluster that it runs on, or settings. A scenario
    that cannot run yields its error in place of a result. `threads` runs go on at a time, one per
    core unless given. Scenarios are taken from the iterable as threads get free, and no more than
    four per thread are under way or done and not yet taken: memory does not grow with their number,
    and the iterable may be endless. `keep(number, result)`, if given, is called by the thread that
    ran a scenario as soon as it ends, `number` counts from 0; what it returns is yielded in place
    of the result, and what it raises ends the sweep. `fold` is that of `yantra.run.simulate.run`.

    If the iterator is closed, or interrupted, runs under way end within a million events and no
    other starts. Raises ConfigError for `threads` below 1.
    """
    if threads is not None and threads < 1:
        raise ConfigError("threads", expected_got("a number of at least 1", threads))
    board = _Board(progress, len(scenarios) if isinstance(scenarios, Sized) else None)

    def one(number: int, given: Scenario | Path | Case) -> Any:
        result = _run(number, given, fold, board)
        return keep(number, result) if keep and isinstance(result, Result) else result

    return _in_order(scenarios, one, threads or cores(), board)


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_order(
    scenarios: Iterable[Scenario | Path | Case],
    one: Callable[[int, Scenario | Path | Case], Any],
    threads: int,
    board: _Board,
) -> Generator[Any, None, None]:
    waiting: deque[Future[Any]] = deque()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="yantra-sweep")
    try:
        for number, given in enumerate(scenarios):
            waiting.append(pool.submit(one, number, given))
            if len(waiting) == _WAITING_PER_THREAD * threads:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        board.is_stopped = True
        pool.shutdown(cancel_futures=True)


def _result(future: Future[Any]) -> Any:
    """Wait in slices: a signal that some other thread takes does not wake this one."""
    while not wait((future,), _SLICE_S).done:
        pass
    return future.result()


def _loaded(given: Scenario | Path | Case) -> Scenario:
    if isinstance(given, Scenario):
        return given
    case = given if isinstance(given, Case) else Case(given)
    return load(case.path, cluster=case.cluster, settings=case.settings)


def _run(
    number: int, given: Scenario | Path | Case, fold: Fold | None, board: _Board
) -> Result | YantraError:
    """Run a scenario; return its error where it has one, a fault of ours included."""
    try:
        board.at(number, 0, 1)
        scenario = _loaded(given)
        model = compile(scenario)
        return run(model, progress=lambda done, all: board.at(number, done, all), fold=fold)
    except _StoppedError:
        raise
    except YantraError as error:
        # Its traceback would keep the model alive.
        error.__context__ = None
        return error.with_traceback(None)
    except Exception as error:
        internal = internal_error(error)
        internal.__cause__ = error
        return internal
    finally:
        board.end(number)
