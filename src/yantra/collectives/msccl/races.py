"""Finds accesses to one chunk, at least one of them a write, that may come in either order.

Every thread block has a clock; an event knows the clock of each other block as far as it waits for
it, directly or through others (Fidge and Mattern's vector clocks). An access must come after the
last write, and a write after all reads since: the argument of FastTrack (Flanagan and Freund, PLDI
2009), by which a program has a race exactly if this finds one.

Trade-off: clocks are kept for a few GPUs at a time, so memory stays bounded and large programs are
walked several times.
"""

from __future__ import annotations

from typing import Any

from yantra.collectives.msccl.execution import Execution
from yantra.collectives.msccl.memory import Spot
from yantra.collectives.msccl.order import Order
from yantra.collectives.msccl.program import BUFFERS

_CLOCKS_AT_ONCE = 1 << 24


def find_race(execution: Execution) -> tuple[int, str] | None:
    """Return an event that races with an earlier one, and how; None if there is none."""
    order = execution.order
    lanes_of: dict[int, list[int]] = {}
    for event in order.events:
        lanes = lanes_of.setdefault(event.gpu, [])
        if not lanes or lanes[-1] != event.lane:
            lanes.append(event.lane)
    room = max(1, _CLOCKS_AT_ONCE // max(1, len(order.events)))
    batch: list[int] = []
    width = 0
    for gpu, lanes in lanes_of.items():
        if batch and width + len(lanes) > room:
            race = _among(execution, batch, lanes_of)
            if race is not None:
                return race
            batch, width = [], 0
        batch.append(gpu)
        width += len(lanes)
    return _among(execution, batch, lanes_of) if batch else None


def _among(
    execution: Execution, gpus: list[int], lanes_of: dict[int, list[int]]
) -> tuple[int, str] | None:
    order = execution.order
    column = {lane: at for at, lane in enumerate(lane for g in gpus for lane in lanes_of[g])}
    clocks = _clocks(order, column)
    wanted = set(gpus)
    written: dict[Spot, int] = {}
    read: dict[Spot, list[int]] = {}

    def ordered(earlier: int, later: int) -> bool:
        at = order.events[earlier]
        return bool(clocks[later, column[at.lane]] > at.step.number)

    for event in order.sequence:
        if order.events[event].gpu not in wanted:
            continue
        access = execution.accesses[event]
        for spot in access.reads:
            last = written.get(spot)
            if last is not None and not ordered(last, event):
                return event, _words(order, spot, last, "reads", "writes")
            read.setdefault(spot, []).append(event)
        for spot in access.writes:
            last = written.get(spot)
            if last is not None and not ordered(last, event):
                return event, _words(order, spot, last, "writes", "writes")
            for earlier in read.pop(spot, ()):
                if earlier != event and not ordered(earlier, event):
                    return event, _words(order, spot, earlier, "writes", "reads")
            written[spot] = event
    return None


def _clocks(order: Order, column: dict[int, int]) -> Any:
    import numpy as np

    clocks = np.zeros((len(order.events), len(column)), np.int32)
    for event in order.sequence:
        row = clocks[event]
        for earlier in order.before[event]:
            np.maximum(row, clocks[earlier], out=row)
        at = order.events[event]
        if at.lane in column:
            row[column[at.lane]] = at.step.number + 1
    return clocks


def _words(order: Order, spot: Spot, other: int, this: str, that: str) -> str:
    return (
        f"{this} {BUFFERS[spot.buffer]} chunk {spot.chunk} while {order.events[other]}, {that} it: "
        "a data race, as neither waits for the other"
    )
