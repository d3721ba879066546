"""Errors of a run tracker are reported as its own, not as a bug in Yantra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from yantra.base.errors import ConfigError, YantraError


@contextmanager
def errors_of(tracker: str) -> Iterator[None]:
    """Raise ConfigError, naming the tracker, for whatever is raised inside."""
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
