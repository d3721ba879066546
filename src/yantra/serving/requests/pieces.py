"""Requests piece by piece, so that a trace of a week is never held whole.

Trade-off: a file is read twice, first for its longest request; nobody follows another or names his
tokens, as both may be anywhere before.
"""

from __future__ import annotations

import gzip
import os
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.serving.requests.csv_source import CsvTable
from yantra.serving.requests.reading import DATES_NS, form_of, log_of, read, table_of
from yantra.serving.requests.source import JsonLines, Source
from yantra.serving.requests.types import OWN, PER_REQUEST, Requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yantra.base.documents import Path

_ROWS = 1 << 16
_WHOLE = "; a stream has no such requests, so leave stream=on out"


class Extremes(NamedTuple):
    """What there is to know of requests before they are served."""

    number: int
    span_s: float
    longest: Requests
    """The one with the longest prompt, and that with the most tokens."""


class Pieces:
    """The requests of a file or a rule, in pieces that begin anew with each loop."""

    def __init__(self, given: Path, *, rate_x: float = 1.0) -> None:
        self._given, self._rate_x = os.fspath(given), rate_x

    def faster(self, rate_x: float) -> Pieces:
        """Arrivals at so many times the rate."""
        return Pieces(self._given, rate_x=rate_x)

    def __iter__(self) -> Iterator[Requests]:
        """Raises ConfigError, with the line, for what is no trace."""
        from yantra.serving.requests import load

        is_file = os.path.exists(self._given)
        pieces = _of_file(self._given) if is_file else sliced(load(self._given))
        for one in pieces:
            if (one.after >= 0).any():
                raise UnsupportedError(f"after: requests follow others{_WHOLE}")
            if (one.span_source >= OWN).any():
                raise UnsupportedError(f"prefix: requests name the tokens of others{_WHOLE}")
            yield one.scaled(self._rate_x)

    def extremes(self) -> Extremes:
        count, first, last = 0, 0, 0
        found: list[tuple[int, int]] = []
        for one in self:
            first = int(one.arrival_ns[0]) if not count else first
            count, last = count + len(one), int(one.arrival_ns[-1])
            both = one.prompt + one.output
            at = {int(np.argmax(one.prompt)), int(np.argmax(both))}
            found += [(int(one.prompt[row]), int(one.output[row])) for row in at]
        most = [max(found), max(found, key=sum)]
        longest = Requests.of([0, 0], [row[0] for row in most], [row[1] for row in most])
        return Extremes(count, (last - first) / 1e9, longest)


def sliced(whole: Requests, rows: int = 0) -> Iterator[Requests]:
    """Pieces of so many requests each."""
    rows = rows or _ROWS
    for begin in range(0, len(whole), rows):
        end = min(begin + rows, len(whole))
        columns: dict[str, Any] = {name: getattr(whole, name)[begin:end] for name in PER_REQUEST}
        start = whole.span_start[begin : end + 1]
        columns["span_start"] = start - start[0]
        for name in ("span_source", "span_end"):
            columns[name] = getattr(whole, name)[start[0] : start[-1]]
        yield Requests(**columns)


def _of_file(path: str) -> Iterator[Requests]:
    try:
        yield from _read(path)
    except ConfigError:
        read(path)  # says which line it is
        raise


def _read(path: str) -> Iterator[Requests]:
    form, offset, last = None, 0, 0
    for source in _sources(path):
        if form is None:
            form = form_of(source)
            if form.is_document:
                raise UnsupportedError(f"{path}: one document, no rows{_WHOLE}")
        columns, keep = table_of(source, form, {})
        _check_names(columns)
        form.finish(columns)
        if form.fails:
            keep &= (columns["output"] > 0) & (columns["prompt"] > 0)
        if not keep.any():
            continue
        arrival = columns["arrival_ns"]
        if not last and arrival[keep].min() >= DATES_NS:
            offset = int(arrival[keep].min())
        columns["arrival_ns"] = arrival - offset
        made = log_of(source, form, columns, np.flatnonzero(keep), sort=False).requests
        if made.arrival_ns[0] < last:
            raise ConfigError(path, "rows are not in the order of arrival")
        last = int(made.arrival_ns[-1])
        yield made


def _check_names(columns: dict[str, Any]) -> None:
    for name in ("user", "session", "adapter"):
        texts = columns[name].tolist() if name in columns else []
        if any(isinstance(text, str) and text and not text.isdecimal() for text in texts):
            raise UnsupportedError(f"{name}: names are numbered over the whole file{_WHOLE}")


def _sources(path: str) -> Iterator[Source]:
    with _opened(path) as file:
        head = file.readline()
        is_json = head.lstrip().startswith("{")
        lines: Iterable[str] = file
        begin = head if is_json else ""
        while block := begin + "".join(islice(lines, _ROWS)):
            begin = ""
            if block.strip():
                text = block if is_json else head + block
                yield JsonLines(path, text) if is_json else CsvTable(path, text)


def _opened(path: str) -> Any:
    with open(path, "rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    if is_packed:
        return gzip.open(path, "rt", encoding="utf-8")
    return open(path, encoding="utf-8")
