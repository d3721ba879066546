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
    """Return the columns by name; times in s from the first arrival, NaN for never."""
    ran = served.ran
    begin = int(ran.column("arrival").min())
    found: dict[str, np.ndarray] = {
        "request": np.arange(len(ran.requests)),
        "prompt": ran.requests.prompt,
        "output": ran.requests.output,
    }
    for name in _TIMES:
        values = ran.column(name)
        found[f"{name}_s"] = np.where(values < 0, np.nan, (values - begin) / PS)
    for at, phase in enumerate(PHASES):
        found[f"{phase}_s"] = ran.spent_s[:, at]
    for at, obstacle in enumerate(OBSTACLES):
        found[f"behind_{obstacle}_s"] = ran.behind_s[:, at]
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
    found = columns(served)
    listed = [_texts(column) for column in found.values()]
    with whole_file(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found)
        writer.writerows(zip(*listed, strict=True))


def _texts(column: np.ndarray) -> list[object]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return ["" if value != value else f"{value:.9g}" for value in column.tolist()]
