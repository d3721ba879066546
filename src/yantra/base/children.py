"""Child processes that end with the process that asked for them, even where that is killed.

Trade-off: a child looks five times a second whether its parent is still there. Linux can send a
signal instead, but sends it when the thread ends that started the child, not when the process does.
"""

from __future__ import annotations

import os
import threading
import time

_SLICE_S = 0.2


def end_with(parent: int) -> None:
    """End this process when `parent` is no longer its parent."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SLICE_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
