"""One row for each served request, as CSV."""

from __future__ import annotations

import csv
import os
from json import dumps
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError
from yantra.base.output import whole_file, write_text
from yantra.serving.fleet import OBSTACLES, PHASES, PS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.base.documents import Path
    from yantra.serving.answer import Served

_TIMES = ("arrival", "start", "first_token", "second_token", "moved", "finish")
_COUNTS = ("restarts", "cached", "recomputed", "target")


def columns(served: Served) -> dict[str, np.ndarray]:
    """Return the columns by name; times in s by the clock of the requests, NaN for never."""
    found = _in_ps(served)
    return {
        name: np.where(column < 0, np.nan, column / PS) if name.endswith("_s") else column
        for name, column in found.items()
    }


def _in_ps(served: Served) -> dict[str, np.ndarray]:
    """Return the columns, those of times in ps and -1 for never."""
    ran = served.ran
    size = len(ran.requests)
    found: dict[str, np.ndarray] = {
        "request": np.arange(size),
        "prompt": ran.requests.prompt,
        "output": ran.requests.output,
    }
    found |= {f"{name}_s": ran.column(name) for name in _TIMES}
    spent = ran.column("spent").reshape(size, -1)[:, 1:]
    behind = ran.column("behind").reshape(size, -1)
    found |= {f"{phase}_s": spent[:, at] for at, phase in enumerate(PHASES)}
    found |= {f"behind_{obstacle}_s": behind[:, at] for at, obstacle in enumerate(OBSTACLES)}
    return found | {name: ran.column(name) for name in _COUNTS}


def write_all(served: Served, path: Path, more: Mapping[str, Any]) -> None:
    """Write the rows; where `path` ends in a slash or is a folder, also the answer as JSON.

    Raises ConfigError if it cannot.
    """
    where = os.fspath(path)
    if not where.endswith(os.sep) and not os.path.isdir(where):
        write_rows(served, where)
        return
    try:
        os.makedirs(where, exist_ok=True)
    except OSError as error:
        raise ConfigError(where, f"cannot be written: {error.strerror or error}") from None
    write_rows(served, os.path.join(where, "requests.csv"))
    answer = dumps(served.as_dict() | dict(more), indent=1)
    write_text(os.path.join(where, "answer.json"), answer + "\n")


def write_rows(served: Served, path: Path) -> None:
    """Write the rows; a file appears whole or not at all. Raises ConfigError if it cannot."""
    found = _in_ps(served)
    listed = [
        _seconds(column) if name.endswith("_s") else column.tolist()
        for name, column in found.items()
    ]
    with whole_file(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found)
        writer.writerows(zip(*listed, strict=True))


def _seconds(column: np.ndarray) -> list[str]:
    """Return times exactly, as decimals; nothing for never."""
    whole, rest = np.divmod(column, 10**12)
    return [
        "" if one < 0 else f"{one}.{part:012d}".rstrip("0").rstrip(".")
        for one, part in zip(whole.tolist(), rest.tolist(), strict=True)
    ]
