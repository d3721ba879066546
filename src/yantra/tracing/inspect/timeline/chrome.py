"""Spans on lanes, and their JSON for Perfetto and Chrome.

Times in us.

Source: Chromium's Trace Event Format (complete, flow and metadata events).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

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


class Timeline(NamedTuple):
    """`processes`: their names; `warnings`: what is not shown."""

    spans: list[Span]
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


def _place(spans: list[Span]) -> tuple[list[int], dict[Lane, int]]:
    order = sorted(
        range(len(spans)), key=lambda at: (spans[at].start_us, -spans[at].duration_us, at)
    )
    open_ends: dict[tuple[int, str], list[list[float]]] = {}
    chosen: list[Lane] = [(0, "", 0)] * len(spans)
    for at in order:
        span = spans[at]
        end = span.start_us + span.duration_us
        if not (span.start_us == span.start_us and end < float("inf")):
            raise TraceError(f"{span.name}: its times are no numbers")
        beside = open_ends.setdefault((span.process, span.lane), [])
        number = _room(beside, span, end)
        beside[number].append(end)
        chosen[at] = (span.process, span.lane, number)
    lanes: dict[Lane, int] = {}
    for lane in sorted(set(chosen)):
        lanes[lane] = 1 + len(lanes)
    return [lanes[lane] for lane in chosen], lanes


def _room(beside: list[list[float]], span: Span, end: float) -> int:
    for number, ends in enumerate(beside):
        while ends and ends[-1] <= span.start_us + _ROUNDING_US:
            ends.pop()
        if not ends or (span.nests and end <= ends[-1] + _ROUNDING_US):
            return number
    beside.append([])
    return len(beside) - 1
