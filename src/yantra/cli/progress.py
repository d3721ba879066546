"""Progress of long work: a bar with the time left, on a terminal.

Not in pipes, files, or with `TERM=dumb`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Protocol

from yantra.cli.terminal import can_redraw

if TYPE_CHECKING:
    from rich.progress import TaskID

APPEARS_AFTER_S = 0.5
_SPEED_OF_LAST_S = 600  # of all work, as its speed varies


class Tell(Protocol):
    """Called with what is done, of how much (None: unknown), and a note."""

    def __call__(self, done: float, total: int | None, note: str = "", /) -> None: ...


@contextmanager
def progress(what: str, counted: bool = False) -> Iterator[Tell | None]:
    """Yield what to call with progress, or None if nothing shows it.

    `counted` shows `3/8`; other output appears above.
    """
    if not can_redraw(sys.stderr):
        yield None
        return
    bar = _Bar(what, counted)
    timer = Timer(APPEARS_AFTER_S, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.tell
    finally:
        timer.cancel()
        bar.end()


class _Bar:
    """A bar, told by the worker, shown by a timer."""

    def __init__(self, what: str, counted: bool) -> None:
        self._what = what
        self._counted = counted
        self._lock = Lock()
        self._at: tuple[float, int | None, str] = (0, None, "")
        self._drawn: Any = None
        self._task: TaskID | None = None
        self._is_over = False

    def tell(self, done: float, total: int | None, note: str = "", /) -> None:
        self._at = (done, total, note)
        if self._drawn is not None:
            text = self._described(note)
            self._drawn.update(self._task, completed=done, total=total, description=text)

    def show(self) -> None:
        with self._lock:
            if not self._is_over:
                done, total, note = self._at
                bar = _drawing(self._counted)
                self._task = bar.add_task(self._described(note), completed=done, total=total)
                bar.start()
                self._drawn = bar

    def _described(self, note: str) -> str:
        return f"{self._what} ({note})" if note else self._what

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._drawn is not None:
                self._drawn.stop()


def _drawing(counted: bool) -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn() if counted else TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        speed_estimate_period=_SPEED_OF_LAST_S,
    )
