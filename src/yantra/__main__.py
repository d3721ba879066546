"""The command `yantra`, also `python -m yantra`.

It handles Ctrl-C before importing the command line, which takes some 50 ms.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130
_STDERR = 2
_OBJECTS_PER_COLLECTION = 50_000  # Python's 700 cost a dozen searches during imports
_SAID = "error: interrupted\n"
_ONE_THREAD = "OPENBLAS_NUM_THREADS", "1"
"""Of numpy's matrices, unless the user says another number: ours are so small that threads wait for
each other longer than they work, a third of a small run's processor time."""


def main() -> int:
    """Run this process's command line; return the exit status."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    os.environ.setdefault(*_ONE_THREAD)
    try:
        _take_interruptions()
        _open_closed_streams()
        from yantra.cli import main

        status = main()
        gc.freeze()  # no search for cycles at exit saves a tenth of a small run
        return status
    except KeyboardInterrupt:
        sys.stderr.write(_SAID)
        return _INTERRUPTED


def _open_closed_streams() -> None:
    """Discard what is written to a stream that our parent closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  (it stays open)


def _take_interruptions() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)


def _interrupted(_signal: int, frame: FrameType | None) -> None:
    """End the command; at once during a native import, which aborts on exceptions."""
    while frame:
        if type(frame.f_locals.get("self")).__name__ == "ExtensionFileLoader":
            os.write(_STDERR, _SAID.encode())
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave_current_folder() -> None:
    """Drop the current folder, which `python -m` puts first, from imports."""
    if sys.path and sys.path[0] == os.getcwd() and not getattr(sys.flags, "safe_path", False):
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder()
    sys.exit(main())
