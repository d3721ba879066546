"""Draws an execution of a schedule as text: a row per device, time from left to right.

A pass is its letter, micro-batch and chunk (if not 0), as wide as it lasts: `F3--` a forward,
`B3.1` a backward, `b` and `W` its parts, `F4&B1` an overlapped pair, dots for idle time.
"""

from __future__ import annotations

from math import floor

from yantra.workloads.schedules.execution import Execution, Span
from yantra.workloads.schedules.in_flight import peaks
from yantra.workloads.schedules.schedule import Action, Pair

_WIDEST = 8  # columns of the shortest pass
_WIDEST_IF_CUT = 6
_CUT = " ~ "
_LEAST_ROOM = 16


def draw(execution: Execution, width: int = 100, unit: str = "") -> str:
    """The drawing, at most `width` columns wide (never less than about 40)."""
    makespan = execution.makespan
    orders = tuple(tuple(span.action for span in spans) for spans in execution.spans)
    digits = len(str(len(orders) - 1))
    names = [f"device {device:{digits}} |" for device in range(len(orders))]
    notes = [
        f"| {idle / makespan if makespan else 0:4.0%} {peak:4}"
        for idle, peak in zip(execution.idle, peaks(orders), strict=True)
    ]
    room = max(width - len(names[0]) - max(map(len, notes)), _LEAST_ROOM)
    ends = (room - len(_CUT)) // 2
    per_unit = _scale(execution, room, ends)
    columns = _column(makespan * per_unit)
    title = f"one column is {_text(1 / per_unit, unit)}, the whole {_text(makespan, unit)}"
    windows = [(0, columns)]
    if columns > room:
        windows = [(0, ends), (columns - ends, columns)]
        title += f"; {_CUT.strip()} stands for {_text((columns - 2 * ends) / per_unit, unit)}"
    room_of = _room_of_kinds(execution, per_unit)
    rows = [
        _CUT.join(_row(spans, per_unit, room_of, *window) for window in windows)
        for spans in execution.spans
    ]
    head = "idle held".rjust(len(names[0] + rows[0]) + len(notes[0]))
    parts = zip(names, rows, notes, strict=True)
    return "\n".join([title, head, *map("".join, parts)]) + "\n"


def _scale(execution: Execution, room: int, ends: int) -> float:
    spans = [span for spans in execution.spans for span in spans if span.end > span.start]
    if not spans:
        return 1
    lasts = [span.end - span.start for span in spans]
    shortest = max(min(lasts), sum(lasts) / len(lasts) / 4)
    for columns in range(_WIDEST, 0, -1):
        if execution.makespan * columns / shortest <= room:
            return columns / shortest
    all_started = max(spans[0].end for spans in execution.spans if spans)
    longest = max(len(str(step)) for span in spans for step in span.action.steps)
    for columns in range(min(longest, _WIDEST_IF_CUT), 1, -1):
        if all_started * columns / shortest <= ends:
            return columns / shortest
    return 1 / shortest


def _room_of_kinds(execution: Execution, per_unit: float) -> dict[str, int]:
    room: dict[str, int] = {}
    for spans in execution.spans:
        for action, start, end in spans:
            columns = _column(end * per_unit) - _column(start * per_unit)
            kind = _kind(action)
            room[kind] = min(columns, room.get(kind, columns))
    return room


def _row(
    spans: tuple[Span, ...], per_unit: float, room_of: dict[str, int], first: int, end: int
) -> str:
    row = ""
    for span in spans:
        start, stop = _column(span.start * per_unit), min(_column(span.end * per_unit), end)
        begin = max(start, first)
        if begin < stop:
            row += "." * (begin - first - len(row))
            room = min(room_of[_kind(span.action)], stop - begin)
            label = _label(span.action, max(room, 1)) if begin == start else ""
            row += label.ljust(stop - begin, "-")
    return row + "." * (end - first - len(row))


def _kind(action: Action) -> str:
    return "&" if isinstance(action, Pair) else action.kind


def _label(action: Action, columns: int) -> str:
    if isinstance(action, Pair):
        texts = (str(action), "F&B", "&")
    else:
        texts = (str(action), f"{action.kind}{action.microbatch}", action.kind)
    return next(text for text in texts if len(text) <= columns or len(text) == 1)


def _column(time: float) -> int:
    return floor(time + 0.5)


def _text(time: float, unit: str) -> str:
    return f"{float(time):.6g} {unit}".rstrip()
