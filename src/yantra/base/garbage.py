"""`uncollected`: makes many small objects without a search for cycles among them.

Python looks through all tuples and lists that are there whenever some hundred more have come. Where
thousands are made that form no cycles, a seventh of the time goes there for nothing.

Trade-off: other threads look for no cycles meanwhile either.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Put the search for cycles off until the block is left, unless it is off anyway."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
