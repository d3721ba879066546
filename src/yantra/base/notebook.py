"""A line of progress under a notebook's cell, where an IPython kernel runs; nothing elsewhere.

Trade-off: plain text after a carriage return, which every front end redraws without widgets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic

EVERY_S = 0.5
_LINE = Lock()  # one at a time: what is asked may ask others


@contextmanager
def progress_line(what: str) -> Iterator[Callable[[str], None] | None]:
    """Yield what to call with a note of what is done, or None outside notebooks and in another.

    Work that is over within EVERY_S shows nothing.
    """
    if not in_kernel() or not _LINE.acquire(blocking=False):
        yield None
        return
    line = _Line(what)
    thread = Thread(target=line.draw, daemon=True)
    thread.start()
    try:
        yield line.tell
    finally:
        line.over.set()
        thread.join()
        _LINE.release()


def in_kernel() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class _Line:
    def __init__(self, what: str) -> None:
        self.over = Event()
        self._text = what
        self._what = what
        self._stream = sys.stderr

    def tell(self, note: str) -> None:
        self._text = f"{self._what} ({note})"

    def draw(self) -> None:
        begin, width = monotonic(), 0
        while not self.over.wait(EVERY_S):
            text = f"{self._text}: {monotonic() - begin:.0f} s"
            self._write(text.ljust(width))
            width = max(width, len(text))
        if width:
            self._write(" " * width)
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()
