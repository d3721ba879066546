"""What a stream can show: decided in one place, by what it is and by its environment.

| | rules and bold | colours | bars |
|---|---|---|---|
| a pipe or a file | no | no | no |
| a terminal | yes | yes | yes |
| `NO_COLOR` set and not empty | as without | no | as without |
| `FORCE_COLOR` set and not empty | yes, in a pipe too | yes | as without |
| `TERM` is `dumb` or `unknown` | no | no | no |

`NO_COLOR` is that of https://no-color.org; rich, which draws, obeys it and `FORCE_COLOR`.
"""

from __future__ import annotations

import os
from typing import TextIO

_CANNOT_DRAW = ("dumb", "unknown")


def is_styled(stream: TextIO) -> bool:
    """Return whether a stream takes rules, bold text and colours."""
    return (stream.isatty() or bool(os.environ.get("FORCE_COLOR"))) and not _is_dumb()


def can_redraw(stream: TextIO) -> bool:
    """Return whether a stream is a terminal on which what was written can be written over."""
    return stream.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM", "").lower() in _CANNOT_DRAW
