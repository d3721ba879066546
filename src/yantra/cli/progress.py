"""Progress of long work: a bar with the time left, on a terminal.

Not in pipes, files, or with `TERM=dumb`. A command that shows none has one of its own after
WAITS_S, until it prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from yantra.base.printable import Printable, unwrapped
from yantra.cli.terminal import can_redraw

if TYPE_CHECKING:
    from rich.progress import TaskID

APPEARS_AFTER_S = 0.5
WAITS_S = 1.5
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
    with paused(), _shown(_Bar(what, counted), APPEARS_AFTER_S) as bar:
        yield bar.tell


@contextmanager
def waiting() -> Iterator[None]:
    """Show that a command is at work, where nothing else does."""
    global _waits
    if not can_redraw(sys.stderr):
        yield
        return
    before, _waits = _waits, _Waiting()
    stream = sys.stdout
    watched = _Watched(stream, _waits.printing)
    sys.stdout = cast("TextIO", watched)
    _waits.start()
    try:
        yield
    finally:
        _waits.stop()
        _waits = before
        sys.stdout = stream


@contextmanager
def paused() -> Iterator[None]:
    """Leave the terminal to another bar, a question, a server or a program."""
    waits = _waits
    if waits is None:
        yield
        return
    waits.stop()
    waits.holders += 1
    try:
        yield
    finally:
        waits.holders -= 1
        waits.start()


class _Waiting:
    """The bar of a command, while nothing holds it, until it is over what is printed."""

    def __init__(self) -> None:
        self.holders = 0
        self._bar: _Bar | None = None
        self._shown = ExitStack()
        self._is_over = False

    def start(self) -> None:
        if self.holders == 0 and not self._is_over:
            self._bar = self._shown.enter_context(_shown(_Bar("working", False, False), WAITS_S))

    def stop(self) -> None:
        self._shown.close()
        self._bar = None

    def printing(self) -> None:
        if self._bar is not None and self._bar.has_begun:
            self._is_over = True
            self.stop()


_waits: _Waiting | None = None  # of the command that runs


class _Watched:
    """A stream that says when it is about to be written to."""

    def __init__(self, stream: TextIO, tell: Callable[[], None]) -> None:
        self._stream = stream
        self._tell = tell

    @property
    def rich_proxied_file(self) -> TextIO:
        self._tell()
        return unwrapped(self._stream)

    def write(self, text: str) -> int:
        self._tell()
        return self._stream.write(text)

    def writelines(self, texts: Iterable[str]) -> None:
        self._tell()
        self._stream.writelines(texts)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def _shown(bar: _Bar, after_s: float) -> Iterator[_Bar]:
    timer = Timer(after_s, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        bar.end()


class _Bar:
    """A bar, told by the worker, shown by a timer; with `takes_stdout` all output appears above."""

    def __init__(self, what: str, counted: bool, takes_stdout: bool = True) -> None:
        self._what = what
        self._counted = counted
        self._takes_stdout = takes_stdout
        self._lock = Lock()
        self._at: tuple[float, int | None, str] = (0, None, "")
        self._drawn: Any = None
        self._task: TaskID | None = None
        self._is_over = False
        self.has_begun = False
        """Whether it is drawn, or about to be."""

    def tell(self, done: float, total: int | None, note: str = "", /) -> None:
        self._at = (done, total, note)
        if self._drawn is not None:
            text = self._described(note)
            self._drawn.update(self._task, completed=done, total=total, description=text)

    def show(self) -> None:
        self.has_begun = True
        with self._lock:
            if not self._is_over:
                done, total, note = self._at
                takes_stdout = self._takes_stdout and sys.stdout.isatty()
                bar = _drawing(self._counted, takes_stdout)
                self._task = bar.add_task(self._described(note), completed=done, total=total)
                bar.start()
                # What appears above is escaped before rich has it; rich's own codes are not.
                sys.stderr = cast("TextIO", Printable(sys.stderr))
                if takes_stdout:
                    sys.stdout = cast("TextIO", Printable(sys.stdout))
                self._drawn = bar

    def _described(self, note: str) -> str:
        return f"{self._what} ({note})" if note else self._what

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._drawn is not None:
                self._drawn.stop()


def _drawing(counted: bool, takes_stdout: bool) -> Any:
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
        console=Console(file=unwrapped(sys.stderr)),
        transient=True,
        redirect_stdout=takes_stdout,
        speed_estimate_period=_SPEED_OF_LAST_S,
    )
