"""What a stream can show.

| | rules and bold | colours | bars |
|---|---|---|---|
| a pipe or a file | no | no | no |
| a terminal | yes | yes | yes |
| `NO_COLOR` set and not empty | as without | no | as without |
| `FORCE_COLOR` set and not empty | yes, in a pipe too | yes | as without |
| `TERM` is `dumb` or `unknown` | no | no | no |

`NO_COLOR`: https://no-color.org; rich obeys both.
"""

from __future__ import annotations

import os
from typing import TextIO

_CANNOT_DRAW = ("dumb", "unknown")


def is_styled(stream: TextIO) -> bool:
    return (stream.isatty() or bool(os.environ.get("FORCE_COLOR"))) and not _is_dumb()


def can_redraw(stream: TextIO) -> bool:
    return stream.isatty() and not _is_dumb()


def _is_dumb() -> bool:
    return os.environ.get("TERM", "").lower() in _CANNOT_DRAW
