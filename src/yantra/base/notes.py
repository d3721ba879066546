"""Notes on files that are read all the same: `note`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Note(UserWarning):
    """Something worth knowing of a file that was read."""


_receivers: list[Callable[[str], object]] = []


def note(text: str) -> None:
    """Note something about a file that is read all the same."""
    if _receivers:
        _receivers[-1](text)
        return
    import warnings

    warnings.warn(text, Note, stacklevel=2)


def note_time(text: str, name: str, what: str, s_per_mb: float) -> None:
    from yantra.base.bounds import SLOW_TEXT

    mega = len(text) / 1e6
    if len(text) > SLOW_TEXT:
        note(f"{name}: {mega:.0f} MB of {what}, which take about {mega * s_per_mb:.0f} s to read")


class notes_to:  # noqa: N801  # said as `with notes_to(...)`
    """Gives notes to a function in place of Python's warnings, each once."""

    def __init__(self, receiver: Callable[[str], object]) -> None:
        self._receiver = receiver
        self._told: set[str] = set()

    def __enter__(self) -> None:
        _receivers.append(self._take)

    def __exit__(self, *why: object) -> None:
        _receivers.remove(self._take)

    def _take(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self._receiver(text)
