"""Finds accesses to one chunk, at least one of them a write, that may come in either order, by
vector clocks of thread blocks.

Source: Flanagan and Freund, "FastTrack", PLDI 2009.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yantra.collectives.msccl.execution import Execution
from yantra.collectives.msccl.memory import Spot
from yantra.collectives.msccl.order import Order
from yantra.collectives.msccl.program import BUFFERS

_CLOCKS_AT_ONCE = 1 << 24


def find_race(execution: Execution) -> tuple[int, str] | None:
    order = execution.order
    lanes_of: dict[int, list[int]] = {}
    for event in order.events:
        lanes = lanes_of.setdefault(event.gpu, [])
        if not lanes or lanes[-1] != event.lane:
            lanes.append(event.lane)
    inside = {lane: at for lanes in lanes_of.values() for at, lane in enumerate(lanes)}
    clocks = _clocks(order, inside, across=False)
    unsure = {order.events[event].gpu for event, _ in _unordered(execution, inside, clocks)}
    room = max(1, _CLOCKS_AT_ONCE // max(1, len(order.events)))
    batch: list[int] = []
    for gpu, lanes in lanes_of.items():
        if gpu not in unsure:
            continue
        if batch and len(batch) + len(lanes) > room:
            race = _race_among(execution, batch)
            if race is not None:
                return race
            batch = []
        batch += lanes
    return _race_among(execution, batch) if batch else None


def _race_among(execution: Execution, lanes: list[int]) -> tuple[int, str] | None:
    column = {lane: at for at, lane in enumerate(lanes)}
    clocks = _clocks(execution.order, column, across=True)
    return next(_unordered(execution, column, clocks), None)


def _unordered(
    execution: Execution, column: dict[int, int], clocks: Any
) -> Iterator[tuple[int, str]]:
    order = execution.order
    written: dict[Spot, int] = {}
    read: dict[Spot, list[int]] = {}

    def ordered(earlier: int, later: int) -> bool:
        at = order.events[earlier]
        return bool(clocks[later, column[at.lane]] > at.step.number)

    for event in order.sequence:
        if order.events[event].lane not in column:
            continue
        access = execution.accesses[event]
        for spot in access.reads:
            last = written.get(spot)
            if last is not None and not ordered(last, event):
                yield event, _words(order, spot, last, "reads", "writes")
            read.setdefault(spot, []).append(event)
        for spot in access.writes:
            last = written.get(spot)
            if last is not None and not ordered(last, event):
                yield event, _words(order, spot, last, "writes", "writes")
            for earlier in read.pop(spot, ()):
                if earlier != event and not ordered(earlier, event):
                    yield event, _words(order, spot, earlier, "writes", "reads")
            written[spot] = event


def _clocks(order: Order, column: dict[int, int], *, across: bool) -> Any:
    import numpy as np

    width = max(column.values(), default=-1) + 1
    clocks = np.zeros((len(order.events), width), np.int32)
    for event in order.sequence:
        row = clocks[event]
        at = order.events[event]
        for earlier in order.before[event]:
            if across or order.events[earlier].gpu == at.gpu:
                np.maximum(row, clocks[earlier], out=row)
        if at.lane in column:
            row[column[at.lane]] = at.step.number + 1
    return clocks


def _words(order: Order, spot: Spot, other: int, this: str, that: str) -> str:
    return (
        f"{this} {BUFFERS[spot.buffer]} chunk {spot.chunk} while {order.events[other]}, {that} it: "
        "a data race, as neither waits for the other"
    )
