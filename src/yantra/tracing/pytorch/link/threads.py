"""One thread's nesting: who is inside whom, and the innermost operator around a call.

Times in whole us may be up to 1 us off.
"""

from __future__ import annotations

from collections import defaultdict

from yantra.tracing.pytorch.kineto import Event
from yantra.tracing.pytorch.linked import Operator

_TRUNCATION_NS = 1000


def nest(operators: list[Operator], events: list[Event | None], calls: list[Event]) -> None:
    """Set `exclusive_ns` of operators and `owner` of calls (an operator index).

    `events` are the operators'; `calls` are sorted by start.
    """
    spans: defaultdict[object, list[tuple[Event, int]]] = defaultdict(list)
    for index, event in enumerate(events):
        if event is not None:
            spans[event.tid].append((event, index))
    calls_of: defaultdict[object, list[Event]] = defaultdict(list)
    for call in calls:
        calls_of[call.tid].append(call)
    for tid, own in spans.items():
        own.sort(key=_order)
        _sweep(own, calls_of.get(tid, []), operators)


def _order(span: tuple[Event, int]) -> tuple[int, int, int]:
    event, index = span
    return event.start, -event.end, index


def _sweep(spans: list[tuple[Event, int]], calls: list[Event], operators: list[Operator]) -> None:
    stack: list[tuple[Event, int]] = []
    next_call = 0
    for event, index in spans:
        while next_call < len(calls) and calls[next_call].start < event.start:
            calls[next_call].owner = _owner(stack, calls[next_call])
            next_call += 1
        while stack and not encloses(stack[-1][0], event):
            stack.pop()
        if stack:
            outer, above = stack[-1]
            covered = min(event.end, outer.end) - event.start
            operators[above].exclusive_ns -= covered
        stack.append((event, index))
    for call in calls[next_call:]:
        call.owner = _owner(stack, call)


def encloses(outer: Event, inner: Event) -> bool:
    if inner.start >= outer.end:
        return False
    return inner.end <= outer.end + (0 if outer.end % 1000 else _TRUNCATION_NS)


def _owner(stack: list[tuple[Event, int]], call: Event) -> int:
    start = call.start
    while stack and stack[-1][0].end < start:
        stack.pop()
    named = call.detail.external_id
    best = -1
    for event, index in reversed(stack):
        if event.end < start:
            continue
        at_the_edge = event.start == start or event.end == start
        if not at_the_edge or event.detail.external_id == named:
            return index
        if best < 0 and event.end > start:
            best = index
    return best
