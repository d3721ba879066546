"""Jobs of a cluster's trace, by the columns of Helios and Acme, Alibaba 2023 or Philly.

A job's work is the time that it ran there. Trade-off: shares of a GPU are taken as one.

Sources: S-Lab-System-Group/HeliosData and InternLM/AcmeTrace (README.md), alibaba/clusterdata
(cluster-trace-gpu-v2023), msr-fiddle/philly-traces.
"""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from io import StringIO
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.documents import Path, read_text
from yantra.base.errors import ConfigError, expected_got

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HELIOS = ("job_id", "gpu_num", "submit_time", "duration")
_ALIBABA = ("name", "num_gpu", "creation_time", "deletion_time", "scheduled_time")
_PHILLY = ("jobid", "submitted_time", "attempts")


class Asked(NamedTuple):
    """A job: seconds of work on `gpus`, from `submitted` s of the day on."""

    name: str
    owner: str
    gpus: int
    submitted: float
    work: float


class Trace(NamedTuple):
    """Jobs in the order of their submission; `left_out` had no GPU or never ran."""

    kind: str
    jobs: tuple[Asked, ...]
    left_out: int


def read(path: Path, hours: float, after: float = 0.0) -> Trace:
    """Read jobs of so many hours, `after` others from the first submission. Raises ConfigError."""
    from os import fspath

    where = fspath(path)
    kind, rows, of_row = _rows(read_text(path), where)
    found, left_out = [], 0
    for line, row in rows:
        try:
            job = of_row(row)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{where}: {line}", f"no job of {kind}: {error}") from None
        if job is None:
            left_out += 1
        else:
            found.append(job)
    if not found:
        raise ConfigError(where, "has no job that ran on a GPU")
    first = min(job.submitted for job in found) + after * 3600.0
    day = [job._replace(submitted=job.submitted - first) for job in found]
    day = [job for job in day if 0.0 <= job.submitted < hours * 3600.0]
    if not day:
        raise ConfigError(where, f"nothing is submitted in {hours:g} hours after {after:g}")
    return Trace(kind, tuple(sorted(day, key=lambda job: job.submitted)), left_out)


def _rows(
    text: str, where: str
) -> tuple[str, Iterator[tuple[str, Any]], Callable[[Any], Asked | None]]:
    if text.lstrip()[:1] in ("[", "{"):
        try:
            tree = json.loads(text)
        except ValueError as error:
            raise ConfigError(where, f"is not JSON: {error}") from None
        if isinstance(tree, list):
            return "Philly", ((f"[{at}]", row) for at, row in enumerate(tree)), _philly
        raise ConfigError(where, expected_got("a list of Philly's jobs", type(tree).__name__))
    reader = csv.DictReader(StringIO(text))
    columns = reader.fieldnames or []
    rows = _whole(reader, where)
    for kind, needed, of_row in (("Helios", _HELIOS, _helios), ("Alibaba", _ALIBABA, _alibaba)):
        if all(name in columns for name in needed):
            return kind, rows, of_row
    forms = f"{', '.join(_HELIOS)} (Helios), {', '.join(_ALIBABA)} (Alibaba)"
    raise ConfigError(where, expected_got(f"columns {forms}, or Philly's JSON", columns))


def _whole(reader: csv.DictReader[str], where: str) -> Iterator[tuple[str, Any]]:
    for row in reader:
        line = f"line {reader.line_num}"
        if missing := [name for name, cell in row.items() if cell is None]:
            raise ConfigError(f"{where}: {line}", f"ends before {missing[0]}; is the file cut off?")
        yield line, row


def _helios(row: Mapping[str, str]) -> Asked | None:
    owner = row.get("vc") or row.get("user") or ""
    work, gpus = float(row["duration"] or 0), int(float(row["gpu_num"] or 0))
    return _asked(row["job_id"], owner, gpus, _time(row["submit_time"]), work)


def _alibaba(row: Mapping[str, str]) -> Asked | None:
    began, ended = row["scheduled_time"], row["deletion_time"]
    work = float(ended) - float(began) if began and ended else 0.0
    created = float(row["creation_time"])
    return _asked(row["name"], row.get("qos") or "", int(row["num_gpu"]), created, work)


def _philly(row: Mapping[str, Any]) -> Asked | None:
    work, gpus = 0.0, 0
    for attempt in row["attempts"]:
        began, ended = attempt["start_time"], attempt["end_time"]
        if began not in (None, "None") and ended not in (None, "None"):
            work += _time(ended) - _time(began)
        gpus = max(gpus, sum(len(one["gpus"]) for one in attempt["detail"]))
    return _asked(row["jobid"], row.get("vc") or "", gpus, _time(row["submitted_time"]), work)


def _asked(name: str, owner: str, gpus: int, submitted: float, work: float) -> Asked | None:
    if not isfinite(work) or not isfinite(submitted):
        raise ValueError(expected_got("finite times", (submitted, work)))
    return Asked(str(name), str(owner), gpus, submitted, work) if gpus > 0 and work > 0 else None


def _time(text: str) -> float:
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
