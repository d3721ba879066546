"""`Backend`: runs a sweep's tasks and returns answers in order.

Results and files are the asking process's business, so all backends give the same bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from yantra.base.errors import UnsupportedError
from yantra.run.sweep_task import Answer, Task


class Work(ABC):
    """Before and after a task; from any thread of this process."""

    @abstractmethod
    def before(self, task: Task) -> Task:
        """The task with any existing result."""

    @abstractmethod
    def after(self, task: Task, answer: Answer) -> Any:
        """Write an answer's file; return what the sweep yields for it."""

    @abstractmethod
    def told(self, number: int) -> Callable[[int, int], None]:
        """What a run calls with nodes done and in all; raises after `stop`."""

    @abstractmethod
    def stop(self) -> None:
        """Let no run go on."""


class Backend(ABC):
    """Runs tasks, `at_once` at a time (None: one per core).

    Each: `work.before`, `perform` of `yantra.run.sweep_task` here or `perform_away` elsewhere, then
    `work.after`.
    """

    def __init__(self, at_once: int | None) -> None:
        self.at_once = at_once

    @abstractmethod
    def run(self, tasks: Iterable[Task], work: Work) -> Generator[Any, None, None]:
        """Yield `work.after`'s values in task order.

        When closed, running tasks end soon and none starts.
        """

    def calls(
        self, function: Callable[[Any], Any], given: Sequence[Any]
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield (place of argument, result) as calls end.

        Optional.
        """
        raise UnsupportedError(f"--backend: {type(self).__name__} runs scenarios, and no trials")
