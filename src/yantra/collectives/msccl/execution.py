"""Runs a program on symbols: what every chunk of memory holds, as sums of input chunks.

A reduction's operands share no input (or it would count twice), unless the collective is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.collectives.msccl.conditions import Value, Values, describe
from yantra.collectives.msccl.memory import MOST_CHUNKS, Memory, Spot
from yantra.collectives.msccl.order import Order
from yantra.collectives.msccl.program import (
    READS_DESTINATION,
    READS_SOURCE,
    RECEIVES,
    REDUCES,
    SENDS,
    WRITES,
    Place,
)


class Access(NamedTuple):
    reads: tuple[Spot, ...]
    writes: tuple[Spot, ...]


class Execution:
    def __init__(self, order: Order, memory: Memory, values: Values, *, strict: bool) -> None:
        self.order = order
        self.memory = memory
        self.values = values
        self.strict = strict
        self._check_length()
        self.accesses = [self._access(event) for event in range(len(order.events))]
        self._payload: dict[int, list[Value]] = {}

    def run(self) -> None:
        """Raises ConfigError at the line of the first event that cannot run."""
        for event in self.order.sequence:
            self._run(event)

    def _run(self, event: int) -> None:
        step = self.order.events[event].step
        access = self.accesses[event]
        result: list[Value] = []
        if step.kind in RECEIVES:
            result = self._payload.pop(self.order.sender[event])
        if step.kind in READS_SOURCE:
            read = [self._read(event, spot) for spot in access.reads[: step.chunks]]
            result = self._sum(event, result, read) if step.kind in RECEIVES else read
        if step.kind in READS_DESTINATION:
            held = [self._read(event, spot) for spot in access.reads[step.chunks :]]
            result = self._sum(event, held, result)
        for spot, value in zip(access.writes, result, strict=False):
            self.values[spot] = value
        if step.kind in SENDS:
            self._payload[event] = result

    def _read(self, event: int, spot: Spot) -> Value:
        value = self.values.get(spot)
        if value is None:
            name = {"i": "input", "o": "output", "s": "scratch"}[spot.buffer]
            self.order.fail(event, f"reads {name} chunk {spot.chunk}, which nothing has written")
        return value

    def _sum(self, event: int, left: list[Value], right: list[Value]) -> list[Value]:
        return [self._add(event, a, b) for a, b in zip(left, right, strict=True)]

    def _add(self, event: int, left: Value, right: Value) -> Value:
        if len(left) == len(right) == 1 and left[0][0] == right[0][0]:  # as in every collective
            chunk, mask = left[0]
            if mask & right[0][1] and self.strict:
                self._twice(event, ((chunk, mask & right[0][1]),))
            return ((chunk, mask | right[0][1]),)
        masks = dict(left)
        for chunk, mask in right:
            if masks.get(chunk, 0) & mask and self.strict:
                self._twice(event, ((chunk, masks[chunk] & mask),))
            masks[chunk] = masks.get(chunk, 0) | mask
        return tuple(sorted(masks.items()))

    def _twice(self, event: int, value: Value) -> None:
        self.order.fail(event, f"adds {describe(value, self.memory.ranks)} a second time")

    def _access(self, event: int) -> Access:
        gpu, _, step, _ = self.order.events[event]
        reads: tuple[Spot, ...] = ()
        if step.kind in READS_SOURCE:
            reads += self._spots(event, gpu, step.source, step.chunks)
        if step.kind in READS_DESTINATION:
            reads += self._spots(event, gpu, step.destination, step.chunks)
        writes: tuple[Spot, ...] = ()
        if step.kind in WRITES:
            writes = self._spots(event, gpu, step.destination, step.chunks)
        if step.kind == "cpy" and reads == writes:  # in place, a copy may be onto itself
            return Access((), ())
        return Access(reads, writes)

    def _spots(self, event: int, gpu: int, place: Place, count: int) -> tuple[Spot, ...]:
        last = self.memory.spot(gpu, place, count - 1)
        if last is None:
            what = f"chunk {place.offset}"
            if count > 1:
                what = f"chunks {place.offset} to {place.offset + count - 1}"
            kind = self.order.events[event].step.kind
            verb = "touches" if kind in REDUCES or kind == "cpy" else "uses"
            self.order.fail(event, f"{verb} {what} of {self.memory.describe(gpu, place)}")
        first = last.chunk - count + 1
        return tuple(Spot(gpu, last.buffer, first + index) for index in range(count))

    def _check_length(self) -> None:
        moved = sum(event.step.chunks for event in self.order.events)
        if moved > MOST_CHUNKS:
            raise ConfigError(
                self.order.where,
                f"the steps move {moved} chunks; a proof plays each, and at most {MOST_CHUNKS}",
            )
