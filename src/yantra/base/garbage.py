"""`uncollected`: makes many small objects without a search for cycles among them.

Python looks through the tuples and lists that are there whenever some hundred more have come. Where
thousands are made that form no cycles, a seventh of the time goes there for nothing; and as much
again afterwards, as Python then looks through all that were made. So what was there before is
searched, if it is young; what the block made joins the oldest objects unseen; and all are searched
once very many have joined.

Trade-off: other threads look for no cycles meanwhile either, and a cycle that the block did make
lives until all are searched.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_UNSEEN = 1 << 19
"""Objects that may join the oldest unseen before all are searched: some dozen training steps."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Put the search for cycles off until the block is left, unless it is off anyway."""
    if not gc.isenabled():
        yield
        return
    gc.collect(1)
    gc.disable()
    try:
        yield
    finally:
        _unseen.join()
        gc.enable()


class _Unseen:
    """Counts the objects that joined the oldest since all were searched."""

    def __init__(self) -> None:
        self.count = 0

    def join(self) -> None:
        """Let the young objects join the oldest, or search all if too many did."""
        if gc.get_freeze_count():
            return  # what somebody else froze would be thawed
        self.count += gc.get_count()[0]
        if self.count > _MOST_UNSEEN:
            self.count = 0
            gc.collect()
        else:
            gc.freeze()
            gc.unfreeze()


_unseen = _Unseen()
