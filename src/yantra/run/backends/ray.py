"""The backend `ray`: a Ray cluster (https://docs.ray.io), joined or local, whose machines share a
file system.

Trade-off: only paths of scenario and plug-ins are shipped, as traces are large.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from yantra import __version__
from yantra.base.errors import ConfigError, UnsupportedError, YantraError
from yantra.base.extras import install
from yantra.base.registry import plugged_files
from yantra.base.trust import state
from yantra.run.backends.backend import Backend, Work
from yantra.run.sweep_task import Answer, Away, Task, call_away, perform_away

if TYPE_CHECKING:
    from types import ModuleType

_PER_CORE = 2  # tasks handed over at a time, so no core waits
_AHEAD = 4  # answers waiting for an earlier one, in multiples of that
_SLICE_S = 0.2
_LACKING = f"the backend ray needs the package ray, which is not installed: {install('ray')}"


class Ray(Backend):
    def __init__(self, at_once: int | None) -> None:
        super().__init__(at_once)
        self._ray = _package()

    def run(self, tasks: Iterable[Task], work: Work) -> Generator[Any, None, None]:
        with _joined(self._ray):
            try:
                yield from _Flow(self._ray, self.at_once, work).through(tasks)
            finally:
                work.stop()

    def calls(
        self, function: Callable[[Any], Any], given: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        ray = self._ray
        with _joined(ray):
            remote = ray.remote(num_cpus=1, max_retries=0)(call_away)
            away = Away(os.getcwd(), plugged_files(), __version__, state())
            shared = ray.put((function, away))
            waiting = list(enumerate(given))[::-1]
            out: dict[Any, int] = {}
            most = _at_a_time(ray, self.at_once)
            try:
                while waiting or out:
                    while waiting and len(out) < most:
                        at, one = waiting.pop()
                        out[remote.remote(one, shared)] = at
                    ended, _ = ray.wait(list(out), timeout=_SLICE_S)
                    for reference in ended:
                        yield out.pop(reference), _got(ray, reference)
            finally:
                for reference in out:
                    ray.cancel(reference, force=True)


@contextmanager
def _joined(ray: ModuleType) -> Iterator[None]:
    # Left again if joined here.
    is_ours = not ray.is_initialized()
    if is_ours:
        _begin(ray)
    try:
        yield
    finally:
        if is_ours:
            ray.shutdown()


def _at_a_time(ray: ModuleType, at_once: int | None) -> int:
    return at_once or max(1, int(ray.cluster_resources().get("CPU", 1))) * _PER_CORE


def _got(ray: ModuleType, reference: Any) -> Any:
    # A lost call is a ConfigError.
    try:
        found = ray.get(reference)
    except ray.exceptions.RayError as error:
        first = str(error).strip().partition("\n")[0]
        raise ConfigError("--backend ray", f"a trial was lost: {first}") from None
    if isinstance(found, YantraError):
        raise found
    return found


class _Flow:
    def __init__(self, ray: ModuleType, at_once: int | None, work: Work) -> None:
        self._ray = ray
        self._work = work
        self._most = _at_a_time(ray, at_once)
        self._perform = ray.remote(num_cpus=1, max_retries=0)(perform_away)
        self._away = Away(os.getcwd(), plugged_files(), __version__, state())
        self._out: dict[Any, Task] = {}
        self._done: dict[int, Any] = {}

    def through(self, tasks: Iterable[Task]) -> Generator[Any, None, None]:
        source, next_number, given = iter(tasks), 0, 0
        try:
            while True:
                while len(self._out) < self._most and given - next_number < self._most * _AHEAD:
                    task = next(source, None)
                    if task is None:
                        break
                    self._send(task)
                    given += 1
                if not self._out and next_number == given:
                    return
                while next_number in self._done:
                    yield self._done.pop(next_number)
                    next_number += 1
                self._wait()
        finally:
            for one in self._out:
                self._ray.cancel(one, force=True)

    def _send(self, task: Task) -> None:
        task = self._work.before(task)
        try:
            self._out[self._perform.remote(task, self._away)] = task
        except TypeError as error:
            problem = f"{error}; write it to a file, and name the file"
            answer = Answer(UnsupportedError(f"cannot be sent to another machine: {problem}"))
            self._done[task.number] = self._work.after(task, answer)

    def _wait(self) -> None:
        if not self._out:
            return
        ended, _ = self._ray.wait(list(self._out), timeout=_SLICE_S)
        for one in ended:
            task = self._out.pop(one)
            self._done[task.number] = self._work.after(task, self._answer(one))

    def _answer(self, one: Any) -> Answer:
        try:
            answer: Answer = self._ray.get(one)
        except self._ray.exceptions.RayError as error:
            first = str(error).strip().partition("\n")[0]
            return Answer(ConfigError("--backend ray", f"the run was lost: {first}"))
        return answer


def _package() -> ModuleType:
    try:
        import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UnsupportedError(_LACKING) from None
    package: ModuleType = ray
    return package


def _begin(ray: ModuleType) -> None:
    # RAY_ADDRESS, else a cluster on this machine, else a new one.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    try:
        ray.init(include_dashboard=None, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ConfigError("--backend ray", f"no cluster can be joined: {first}") from None


PLUGIN = Ray
