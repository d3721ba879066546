"""The backend `local`: threads of this process; any number gives the same bits.

Trade-off: Python's part of `compile` is serial, so sweeps of short runs gain little.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any

from yantra import _core
from yantra._core import Stop
from yantra.base.children import end_with
from yantra.base.cores import cores
from yantra.base.errors import UnsupportedError
from yantra.base.trust import state, take
from yantra.run.backends.backend import Backend, Work
from yantra.run.sweep_task import StoppedError, Task, perform

_WAITING_PER_THREAD = 4
_SLICE_S = 0.2
_GRACE_S = 0.3


class Local(Backend):
    def run(self, tasks: Iterable[Task], work: Work) -> Generator[Any, None, None]:
        def one(task: Task) -> Any:
            with at_work.noted():
                task = work.before(task)
                return work.after(task, perform(task, work.told(task.number)))

        at_work = _AtWork()
        threads = self.at_once or cores()
        waiting: deque[Future[Any]] = deque()
        stop = Stop()
        pool = ThreadPoolExecutor(threads, thread_name_prefix="yantra-sweep", initializer=stop.hear)
        _core.limit_cores(max(1, cores() // threads))
        try:
            for task in tasks:
                waiting.append(pool.submit(one, task))
                if len(waiting) == _WAITING_PER_THREAD * threads:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        except KeyboardInterrupt:
            at_work.ends = True
            raise
        finally:
            work.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            wait(waiting, _GRACE_S)  # keep what is almost done
            stop.say()
            at_work.stop()
            pool.shutdown(cancel_futures=True)
            _core.limit_cores(0)

    def calls(
        self, function: Callable[[Any], Any], given: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        processes = min(self.at_once or cores(), len(given))
        if processes <= 1:
            yield from ((at, function(one)) for at, one in enumerate(given))
            return
        pool = ProcessPoolExecutor(processes, initializer=_follow, initargs=(os.getpid(), state()))
        try:
            running = {pool.submit(function, one): at for at, one in enumerate(given)}
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool:
            raise UnsupportedError(
                "a worker was killed from outside, perhaps for lack of memory; "
                "what was finished is kept: go on with --resume and fewer --workers"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


class _AtWork:
    """Threads that have a task; a process that ends does not wait for their Python, either."""

    def __init__(self) -> None:
        self.ends = False
        self._threads: set[int] = set()
        self._lock = Lock()

    @contextmanager
    def noted(self) -> Iterator[None]:
        with self._lock:
            self._threads.add(get_ident())
        try:
            yield
        finally:
            with self._lock:
                self._threads.discard(get_ident())

    def stop(self) -> None:
        if not self.ends:
            return
        import ctypes

        raised = ctypes.py_object(StoppedError)
        with self._lock:
            for thread in self._threads:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


def _follow(parent: int, allowed: tuple[Any, ...]) -> None:
    # Ctrl-C is for the asking process, with which this ends, even by a kill; it may run what that
    # may.
    take(allowed)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)


def _result(future: Future[Any]) -> Any:
    # In slices: a signal taken by another thread does not wake this one.
    while not wait((future,), _SLICE_S).done:
        pass
    return future.result()


PLUGIN = Local
