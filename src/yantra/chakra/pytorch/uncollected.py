"""Building large structures without Python's cycle collector looking through them again and again.

A linked trace holds hundreds of thousands of lists and no cycle. The collector visits them all each
time their number has grown by a quarter, which takes as long as the work itself.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the cycle collector off inside the block; as a decorator, inside the function."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
