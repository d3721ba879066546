"""What a reader tells while it reads: that a file is newer, or larger, than is usual.

A command prints it as a warning, once. A program hears it through Python's `warnings`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

tellers: list[Callable[[str], None]] = []
"""Who tells the user: the last one does, `warnings` where there is none."""


def tell_time(text: str, name: str, what: str, s_per_mb: float) -> None:
    """Tell how long reading a text takes, if it takes long; `name` is its file."""
    from yantra.base.bounds import SLOW_TEXT

    mega = len(text) / 1e6
    if len(text) > SLOW_TEXT:
        tell(f"{name}: {mega:.0f} MB of {what}, which take about {mega * s_per_mb:.0f} s to read")


def tell(text: str) -> None:
    """Tell the user a sentence, which begins with the file that it is about."""
    if tellers:
        tellers[-1](text)
        return
    import warnings

    warnings.warn(text, stacklevel=2)
