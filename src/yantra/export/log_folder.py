"""ASTRA-sim's logging folder: `log.log` with every line, `err.log` with errors.

Both rotate at 10 MiB, up to ten files.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

from yantra.base.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LARGEST_BYTES = 10 * 1024 * 1024
_KEPT = 10


def write(folder: str, texts: Iterable[str]) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
        _append(os.path.join(folder, "log"), texts)
        _append(os.path.join(folder, "err"), ())
    except OSError as error:
        problem = f"cannot be written: {error.strerror}"
        raise ConfigError("--logging-folder", f"{folder}: {problem}") from None


def _append(stem: str, texts: Iterable[str]) -> None:
    is_new = not os.path.exists(f"{stem}.log")
    try:
        _append_lines(stem, texts)
    except OSError:
        if is_new and os.path.exists(f"{stem}.log") and not os.path.getsize(f"{stem}.log"):
            os.remove(f"{stem}.log")  # nothing of this run could be written
        raise


def _append_lines(stem: str, texts: Iterable[str]) -> None:
    file = open(f"{stem}.log", "ab")  # noqa: SIM115  # replaced while the lines are written
    try:
        size = file.tell()
        for text in texts:
            line = f"{text}\n".encode()
            if size + len(line) > _LARGEST_BYTES:
                file.close()
                _rotate(stem)
                file = open(f"{stem}.log", "ab")  # noqa: SIM115
                size = 0
            file.write(line)
            size += len(line)
    finally:
        file.close()


def _rotate(stem: str) -> None:
    names = [f"{stem}.log", *(f"{stem}.{number}.log" for number in range(1, _KEPT + 1))]
    for newer, older in reversed(list(pairwise(names))):
        if os.path.exists(newer):
            os.replace(newer, older)
