"""Spans on lanes, and their JSON for Perfetto and Chrome.

Times in us.

Source: Chromium's Trace Event Format (complete, flow and metadata events).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from yantra.base.errors import TraceError
from yantra.base.output import Path, whole_file

_BATCH = 1000  # events held at once as they are written
_ROUNDING_US = 1e-4  # float error of sums of us; 0.1 ns


class Span(NamedTuple):
    """A timed span. `nests`: it may hold others of its lane."""

    process: int
    lane: str
    name: str
    start_us: float
    duration_us: float
    args: dict[str, Any]
    nests: bool = False


class Arrow(NamedTuple):
    """From a span's end to another's start, by position."""

    source: int
    target: int
    name: str


class Rows(NamedTuple):
    """Of spans, what places them: times in us, and lanes as places in `names`, (process, name)."""

    start_us: Sequence[float]
    end_us: Sequence[float]
    lane: Sequence[int]
    nests: Sequence[int]
    names: Sequence[tuple[int, str]]


class Spans(Sequence[Span]):
    """Spans that are made when asked for."""

    def rows(self) -> Rows:
        raise NotImplementedError


class Timeline(NamedTuple):
    """`processes`: their names; `warnings`: what is not shown."""

    spans: Sequence[Span]
    arrows: list[Arrow]
    processes: dict[int, str]
    warnings: list[str]


def write_timeline(timeline: Timeline, path: Path) -> None:
    import msgspec

    encode = msgspec.json.encode
    events = _events(timeline)
    with whole_file(path) as name, open(name, "wb") as file:
        file.write(b'{"displayTimeUnit":"ns","traceEvents":[')
        comma = b""
        while batch := list(islice(events, _BATCH)):
            file.write(comma + encode(batch)[1:-1])
            comma = b","
        file.write(b"]}")


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    places, lanes = _place(timeline.spans)
    for process, name in timeline.processes.items():
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}
        yield {
            "ph": "M",
            "pid": process,
            "name": "process_sort_index",
            "args": {"sort_index": process},
        }
    for (process, name, _), tid in lanes.items():
        about = {"ph": "M", "pid": process, "tid": tid}
        yield about | {"name": "thread_name", "args": {"name": name}}
        yield about | {"name": "thread_sort_index", "args": {"sort_index": tid}}
    for span, tid in zip(timeline.spans, places, strict=True):
        yield {
            "ph": "X",
            "pid": span.process,
            "tid": tid,
            "ts": span.start_us,
            "dur": span.duration_us,
            "name": span.name,
            "cat": span.lane,
            "args": span.args,
        }
    for number, arrow in enumerate(timeline.arrows):
        source, target = timeline.spans[arrow.source], timeline.spans[arrow.target]
        about = {"cat": "dependency", "name": arrow.name, "id": number}
        begin = {"ph": "s", "pid": source.process, "tid": places[arrow.source]}
        end = {"ph": "f", "bp": "e", "pid": target.process, "tid": places[arrow.target]}
        yield about | begin | {"ts": source.start_us + source.duration_us}
        yield about | end | {"ts": target.start_us}


Lane = tuple[int, str, int]  # process, name, number among lanes of that name


def _rows(spans: Sequence[Span]) -> Rows:
    if isinstance(spans, Spans):
        return spans.rows()
    names: dict[tuple[int, str], int] = {}
    return Rows(
        [span.start_us for span in spans],
        [span.start_us + span.duration_us for span in spans],
        [names.setdefault((span.process, span.lane), len(names)) for span in spans],
        [span.nests for span in spans],
        list(names),
    )


def _place(spans: Sequence[Span]) -> tuple[Sequence[int], dict[Lane, int]]:
    rows = _rows(spans)
    for at, (start, end) in enumerate(zip(rows.start_us, rows.end_us, strict=True)):
        if not (start == start and end < float("inf")):
            raise TraceError(f"{spans[at].name}: its times are no numbers")
    order = array("I", range(len(spans)))
    if len(spans):
        ends, starts = np.asarray(rows.end_us, float), np.asarray(rows.start_us, float)
        order = array("I", np.lexsort((-(ends - starts), starts)).astype(np.uint32).tobytes())
    open_ends: list[list[list[float]]] = [[] for _ in rows.names]
    known: dict[Lane, int] = {}
    chosen = array("I", bytes(4 * len(spans)))
    for at in order:
        lane, start, end = rows.lane[at], rows.start_us[at], rows.end_us[at]
        number = _room(open_ends[lane], start, end, rows.nests[at])
        open_ends[lane][number].append(end)
        chosen[at] = known.setdefault((*rows.names[lane], number), len(known))
    lanes = {lane: 1 + place for place, lane in enumerate(sorted(known))}
    tid = [lanes[lane] for lane in known]
    return array("I", (tid[place] for place in chosen)), lanes


def _room(beside: list[list[float]], start: float, end: float, nests: int) -> int:
    for number, ends in enumerate(beside):
        while ends and ends[-1] <= start + _ROUNDING_US:
            ends.pop()
        if not ends or (nests and end <= ends[-1] + _ROUNDING_US):
            return number
    beside.append([])
    return len(beside) - 1
