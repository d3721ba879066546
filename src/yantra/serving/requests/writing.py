"""Writes requests as CSV of Yantra's own form, which reads back as equal requests.

Trade-off: dates are not kept, arrivals are seconds.
"""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from yantra.base.output import whole_text
from yantra.serving.requests.types import OWN, Requests

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from yantra.base.documents import Path

    Whole = NDArray[np.int64]


def write(them: Requests, path: Path) -> None:
    """Raises ConfigError if it cannot be written."""
    columns = dict(_columns(them))
    with whole_text(path) as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(zip(*columns.values(), strict=True))


def _columns(them: Requests) -> Iterator[tuple[str, list[str] | list[int]]]:
    yield "arrival_s", _seconds(them.arrival_ns)
    yield "prompt", them.prompt.tolist()
    yield "output", them.output.tolist()
    if not np.array_equal(them.limit, them.output):
        yield "limit", them.limit.tolist()
    for name in ("priority", "user"):
        column = getattr(them, name)
        if column.any():
            yield name, column.tolist()
    if them.adapter.any():
        yield "adapter", ["" if one == 0 else str(one) for one in them.adapter.tolist()]
    if (them.session >= 0).any():
        yield "session", _unless_none(them.session)
    if (them.after >= 0).any():
        yield "after", _unless_none(them.after)
    if them.delay_ns.any():
        yield "delay_s", _seconds(them.delay_ns)
    if len(them.span_end):
        prefixes = list(_prefixes(them))
        yield "prefix", [name for name, _ in prefixes]
        yield "prefix_tokens", [tokens for _, tokens in prefixes]


def _seconds(column: Whole) -> list[str]:
    return [_second(*divmod(ns, 10**9)) for ns in column.tolist()]


def _second(whole: int, rest: int) -> str:
    return f"{whole}.{rest:09d}".rstrip("0") if rest else str(whole)


def _unless_none(column: Whole) -> list[str]:
    return ["" if value < 0 else str(value) for value in column.tolist()]


def _prefixes(them: Requests) -> Iterator[tuple[str, str]]:
    start, source, end = (c.tolist() for c in (them.span_start, them.span_source, them.span_end))
    spans = list(zip(source, end, strict=True))
    for begin, until in pairwise(start):
        mine = spans[begin:until]
        if mine and mine[-1][0] >= OWN:
            other = mine[-1][0] - OWN
            if spans[start[other] : start[other + 1]] == mine[:-1]:
                yield f"r{other}", str(mine[-1][1])
                continue
        names = (f"o{name - OWN}" if name >= OWN else str(name) for name, _ in mine)
        yield " ".join(names), " ".join(str(its_end) for _, its_end in mine)
