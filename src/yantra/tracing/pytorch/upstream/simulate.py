"""A quick replay of a converted trace: one CPU, and one op at a time per stream.

A plausibility check as upstream's `--simulate`, but without microsecond ticks, and dependents are
released at a node's end.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from yantra import _core
from yantra.chakra.trace import Trace

_CPU = -1


class Event(NamedTuple):
    """A node starts or ends, `at` microseconds after the beginning; `stream` None is the CPU."""

    at: int
    starts: bool
    node: int
    name: str
    stream: int | None


def simulate(trace: Trace) -> Iterator[Event]:
    """A lane takes nodes in the order they became ready, lowest id first."""
    native = trace.native
    ids = native.id
    place = {id: record for record, id in enumerate(ids)}
    parents = [[place[id] for id in native.data_deps(at) if id in place] for at in range(len(ids))]
    children: list[list[int]] = [[] for _ in ids]
    for record, deps in enumerate(parents):
        for parent in deps:
            children[parent].append(record)
    missing = [len(deps) for deps in parents]
    lanes = [_lane(native, record) for record in range(len(ids))]
    ready: dict[int, deque[int]] = {lane: deque() for lane in lanes}
    for record in sorted(range(len(ids)), key=ids.__getitem__):
        if not missing[record]:
            ready[lanes[record]].append(record)
    running: list[tuple[int, int]] = []
    busy: set[int] = set()

    def start(at: int) -> Iterator[Event]:
        for lane, waiting in ready.items():
            if waiting and lane not in busy:
                record = waiting.popleft()
                busy.add(lane)
                heapq.heappush(running, (at + native.duration_micros[record], record))
                yield _event(native, at, True, record, lane)

    yield from start(0)
    while running:
        at, record = heapq.heappop(running)
        busy.discard(lanes[record])
        yield _event(native, at, False, record, lanes[record])
        for child in children[record]:
            missing[child] -= 1
            if not missing[child]:
                ready[lanes[child]].append(child)
        if not running or running[0][0] > at:
            yield from start(at)


def _lane(native: _core.Trace, record: int) -> int:
    values = {name: value for name, _, value, _ in native.attributes(record)}
    stream = values.get("stream")
    return _CPU if values.get("is_cpu_op") else stream if type(stream) is int and stream > 0 else 0


def _event(native: _core.Trace, at: int, starts: bool, record: int, lane: int) -> Event:
    stream = None if lane == _CPU else lane
    return Event(at, starts, native.id[record], native.name(record), stream)
