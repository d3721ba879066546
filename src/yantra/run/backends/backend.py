"""`Backend`: who runs the tasks of a sweep, and gives their answers in order.

Trade-off: a backend only moves tasks and answers. Which results are finished, where files go and
what is kept of a result is the sweep's business, in the process that asked, so no backend can get
it wrong and all give the same bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from yantra.base.errors import UnsupportedError
from yantra.run.sweep_task import Answer, Task


class Work(ABC):
    """What a backend does with a task, before and after it runs; any thread of this process may."""

    @abstractmethod
    def before(self, task: Task) -> Task:
        """Return the task with what is there of its result already."""

    @abstractmethod
    def after(self, task: Task, answer: Answer) -> Any:
        """Take an answer, write its file, and return what the sweep yields for it."""

    @abstractmethod
    def told(self, number: int) -> Callable[[int, int], None]:
        """Return what a run is to call with nodes done and in all. It raises after `stop`."""

    @abstractmethod
    def stop(self) -> None:
        """Nobody wants the rest: let no run go on."""


class Backend(ABC):
    """Runs tasks. `at_once` is how many at a time, None for as many as there are cores.

    For each task: `work.before`, then `perform` of `yantra.run.sweep_task` here or `perform_away`
    elsewhere, then `work.after` as soon as it has ended.
    """

    def __init__(self, at_once: int | None) -> None:
        self.at_once = at_once

    @abstractmethod
    def run(self, tasks: Iterable[Task], work: Work) -> Generator[Any, None, None]:
        """Yield what `work.after` returns for each task, in their order.

        Takes tasks only a few ahead of what was yielded. When it is closed, what is under way ends
        soon, and nothing else starts.
        """

    def calls(
        self, function: Callable[[Any], Any], given: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield the place of each argument and what the function returns for it, as they end.

        All of them can be pickled. When it is closed, nothing else starts. A backend that only runs
        scenarios need not have it.
        """
        raise UnsupportedError(f"--backend: {type(self).__name__} runs scenarios, and no trials")
