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
    from collections.abc import Callable, Mapping

    from yantra.base.documents import Path
    from yantra.serving.answer import Served

_TIMES = ("arrival", "start", "first_token", "second_token", "moved", "finish")
_COUNTS = ("restarts", "cached", "recomputed", "target")
_AT_ONCE = 1 << 16


def columns(served: Served) -> dict[str, np.ndarray]:
    found = _in_ps(served)
    return {
        name: np.where(column < 0, np.nan, column / PS) if name.endswith("_s") else column
        for name, column in found.items()
    }


def _in_ps(served: Served) -> dict[str, np.ndarray]:
    asked = served.ran.requests
    return named(np.arange(len(asked)), asked.prompt, asked.output, served.ran.column)


def named(
    request: Any, prompt: Any, output: Any, column: Callable[[str], Any]
) -> dict[str, np.ndarray]:
    """The columns of rows by name, times in ps."""
    size = len(request)
    found = {
        name: np.asarray(of)
        for name, of in (("request", request), ("prompt", prompt), ("output", output))
    }
    found |= {f"{name}_s": np.asarray(column(name)) for name in _TIMES}
    spent = np.asarray(column("spent")).reshape(size, len(PHASES) + 1)[:, 1:]
    behind = np.asarray(column("behind")).reshape(size, len(OBSTACLES))
    found |= {f"{phase}_s": spent[:, at] for at, phase in enumerate(PHASES)}
    found |= {f"behind_{obstacle}_s": behind[:, at] for at, obstacle in enumerate(OBSTACLES)}
    return found | {name: np.asarray(column(name)) for name in _COUNTS}


def write_all(served: Served, path: Path, more: Mapping[str, Any]) -> None:
    """Write the rows; where `path` ends in a slash or is a folder, also the answer as JSON.

    Raises ConfigError if it cannot.
    """
    write_rows(served, rows_in(path))
    write_answer(served, path, more)


def rows_in(path: Path) -> str:
    """The file of rows, in a folder that is there then. Raises ConfigError if it cannot be."""
    where = os.fspath(path)
    if not where.endswith(os.sep) and not os.path.isdir(where):
        return where
    try:
        os.makedirs(where, exist_ok=True)
    except OSError as error:
        raise ConfigError(where, f"cannot be written: {error.strerror or error}") from None
    return os.path.join(where, "requests.csv")


def write_answer(served: Served, path: Path, more: Mapping[str, Any]) -> None:
    """Write the answer as JSON, if `path` is a folder."""
    if os.path.isdir(path):
        answer = dumps(served.as_dict() | dict(more), indent=1)
        write_text(os.path.join(path, "answer.json"), answer + "\n")


def write_rows(served: Served, path: Path) -> None:
    found = _in_ps(served)
    with whole_file(path) as name, open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(found)
        for begin in range(0, len(served.ran.requests), _AT_ONCE):
            some = {key: column[begin : begin + _AT_ONCE] for key, column in found.items()}
            writer.writerows(zip(*listed(some), strict=True))


def listed(found: Mapping[str, np.ndarray]) -> list[list[Any]]:
    """The same as they are written, times in s."""
    return [
        _seconds(column) if name.endswith("_s") else column.tolist()
        for name, column in found.items()
    ]


def _seconds(column: np.ndarray) -> list[Any]:
    whole, rest = np.divmod(column, 10**12)
    return [
        "" if one < 0 else f"{one}.{part:012d}".rstrip("0").rstrip(".")
        for one, part in zip(whole.tolist(), rest.tolist(), strict=True)
    ]
