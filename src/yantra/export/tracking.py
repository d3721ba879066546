"""What goes wrong in a tracker of runs is reported as its error, not as a bug in Yantra.

Trade-off: any exception counts, as a tracker may raise what it likes (no account, no network, a
store it no longer writes to).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from yantra.base.errors import ConfigError, YantraError


@contextmanager
def errors_of(tracker: str) -> Iterator[None]:
    """Raise ConfigError, which names the tracker, for whatever is raised inside."""
    try:
        yield
    except YantraError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or "it gives no reason"
        raise ConfigError(
            f"export {tracker}",
            f"nothing is logged, because {tracker} raises {type(error).__name__}: {said}",
        ) from error
