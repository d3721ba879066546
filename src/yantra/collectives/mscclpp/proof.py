"""Proves a plan right, or says where it is wrong: waits end, no unordered accesses include a write,
and every GPU ends with what the collective promises.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra.base.errors import ConfigError
from yantra.collectives.msccl import conditions
from yantra.collectives.msccl.conditions import Value, Values, describe
from yantra.collectives.msccl.memory import Memory, Spot
from yantra.collectives.msccl.program import BUFFERS, Place, Program
from yantra.collectives.msccl.program import Gpu as ProgramGpu
from yantra.collectives.mscclpp.order import Order, units
from yantra.collectives.mscclpp.plan import COPIES, SUMS, Plan, Span

_UNKNOWN = {"test": "custom", "sendrecv": "custom"}
_CLOCKS_AT_ONCE = 1 << 24


class Proof(NamedTuple):
    plan: Plan
    order: Order
    collective: str
    units: int
    lines: tuple[str, ...]


def prove(plan: Plan, collective: str | None = None) -> Proof:
    """Prove a plan; `collective` overrides the file's.

    Raises ConfigError at the first wrong operation.
    """
    program = _program(plan)
    name = conditions.collective_of(program, collective)
    order = Order(plan)
    memory = Memory(program, name, plan.in_place)
    execution = _Execution(order, memory, conditions.before(program, name, memory), name)
    execution.run()
    race = find_race(order, execution.accesses, ends=name != "custom")
    if race is not None:
        order.fail(*race)
    root = conditions.root_of(name, execution.values, memory)
    for spot, promised in conditions.after(name, memory, root):
        held = execution.values.get(spot)
        if held != promised:
            told = f"must hold {describe(promised, memory.ranks)}"
            raise ConfigError(
                f"{plan.where}: gpus[{spot.gpu}]",
                f"at the end of {name}, {BUFFERS[spot.buffer]} unit {spot.chunk} {told}, but holds "
                f"{describe(held, memory.ranks)}",
            )
    size = conditions.data_chunks(program, name)
    if size < 1:
        raise ConfigError(plan.where, "no GPU has a chunk of input or output")
    return Proof(plan, order, name, size, _lines(order, name, plan.in_place, root))


def _program(plan: Plan) -> Program:
    gpus = tuple(
        ProgramGpu(
            0,
            gpu.id,
            gpu.input_chunks * plan.units,
            gpu.output_chunks * plan.units,
            gpu.scratch_chunks * plan.units,
            (),
        )
        for gpu in plan.gpus
    )
    name = _UNKNOWN.get(plan.collective, plan.collective)
    ways = plan.in_place, not plan.in_place
    return Program(plan.where, "", plan.name, name, *ways, 1, gpus)


class Access(NamedTuple):
    """The memory that an event reads and writes."""

    reads: tuple[Spot, ...]
    writes: tuple[Spot, ...]


class _Execution:
    def __init__(self, order: Order, memory: Memory, values: Values, collective: str) -> None:
        self.order, self.memory, self.values = order, memory, values
        self._strict = collective != "custom"
        self.accesses = [Access((), ())] * len(order.events)

    def run(self) -> None:
        for event in self.order.sequence:
            operation = self.order.events[event].operation
            if operation.kind in COPIES or operation.kind in SUMS:
                self._run(event)

    def _run(self, event: int) -> None:
        operation = self.order.events[event].operation
        reads = [self._spots(event, span) for span in operation.reads]
        writes = [self._spots(event, span) for span in operation.writes]
        held = [[self._read(event, spot) for spot in spots] for spots in reads]
        if operation.kind in SUMS:
            total = held[0]
            for more in held[1:]:
                total = [self._add(event, a, b) for a, b in zip(total, more, strict=True)]
            results = [total] * len(writes)
        else:
            results = held * len(writes) if len(held) == 1 else held
        for spots, made in zip(writes, results, strict=True):
            self.values.update(zip(spots, made, strict=True))
        one = operation.kind == "copy" and reads == writes  # onto itself, called in place
        if not one:
            self.accesses[event] = Access(
                tuple(spot for spots in reads for spot in spots),
                tuple(spot for spots in writes for spot in spots),
            )

    def _read(self, event: int, spot: Spot) -> Value:
        value = self.values.get(spot)
        if value is None:
            name = f"{BUFFERS[spot.buffer]} unit {spot.chunk} of GPU {spot.gpu}"
            self.order.fail(event, f"reads {name}, which nothing has written")
        return value

    def _add(self, event: int, left: Value, right: Value) -> Value:
        masks = dict(left)
        for chunk, mask in right:
            if masks.get(chunk, 0) & mask and self._strict:
                twice = ((chunk, masks[chunk] & mask),)
                told = describe(twice, self.memory.ranks)
                self.order.fail(event, f"adds {told} a second time")
            masks[chunk] = masks.get(chunk, 0) | mask
        return tuple(sorted(masks.items()))

    def _spots(self, event: int, span: Span) -> list[Spot]:
        last = self.memory.spot(span.gpu, Place(span.buffer, span.first), span.size - 1)
        if last is None or not span.size:
            sizes = self.memory.chunks[span.gpu]
            held = f"{BUFFERS[span.buffer]} of GPU {span.gpu}, which has {sizes[span.buffer]} units"
            what = f"units {span.first} to {span.first + span.size - 1}"
            self.order.fail(event, f"touches {what} of the {held}")
        first = last.chunk - span.size + 1
        return [Spot(span.gpu, last.buffer, first + at) for at in range(span.size)]


def find_race(order: Order, accesses: list[Access], *, ends: bool) -> tuple[int, str] | None:
    """An event that races with an earlier one, and how; `ends`: also after their GPU's end."""
    room = max(1, _CLOCKS_AT_ONCE // max(1, len(order.events)))
    for first in range(0, order.lanes, room):
        lanes = range(first, min(first + room, order.lanes))
        race = _race_with(order, accesses, lanes, ends)
        if race is not None:
            return race
    return None


def _race_with(
    order: Order, accesses: list[Access], lanes: range, ends: bool
) -> tuple[int, str] | None:
    clocks = _clocks(order, lanes)
    written: dict[Spot, int] = {}
    read: dict[Spot, list[int]] = {}

    def unordered(earlier: int, later: int) -> bool:
        at = order.events[earlier]
        return at.lane in lanes and bool(clocks[later, at.lane - lanes.start] <= at.place)

    for event in order.sequence:
        for spot in accesses[event].reads:
            last = written.get(spot)
            if last is not None and unordered(last, event):
                return event, _words(order, spot, last, "reads", "writes")
            read.setdefault(spot, []).append(event)
        for spot in accesses[event].writes:
            last = written.get(spot)
            if last is not None and unordered(last, event):
                return event, _words(order, spot, last, "writes", "writes")
            for earlier in read.pop(spot, ()):
                if earlier != event and unordered(earlier, event):
                    return event, _words(order, spot, earlier, "writes", "reads")
            written[spot] = event
    return _late(order, written, clocks, lanes) if ends else None


def _late(
    order: Order, written: dict[Spot, int], clocks: Any, lanes: range
) -> tuple[int, str] | None:
    import numpy as np

    ended: dict[int, Any] = {}
    for number, event in enumerate(order.events):
        row = ended.get(event.gpu)
        ended[event.gpu] = clocks[number] if row is None else np.maximum(row, clocks[number])
    for spot, number in written.items():
        at = order.events[number]
        if at.lane not in lanes or spot.gpu == at.gpu or spot.buffer == "s":
            continue
        known = ended.get(spot.gpu)
        if known is None or known[at.lane - lanes.start] <= at.place:
            where = f"{BUFFERS[spot.buffer]} unit {spot.chunk} of GPU {spot.gpu}"
            return number, f"writes {where}, which may end before, as it waits for no signal of it"
    return None


def _clocks(order: Order, lanes: range) -> Any:
    import numpy as np

    clocks = np.zeros((len(order.events), len(lanes)), np.int32)
    for event in order.sequence:
        row = clocks[event]
        for earlier in order.before[event]:
            np.maximum(row, clocks[earlier], out=row)
        at = order.events[event]
        if at.lane in lanes:
            row[at.lane - lanes.start] = at.place + 1
    return clocks


def _words(order: Order, spot: Spot, other: int, this: str, that: str) -> str:
    operation = order.events[other].operation
    where = operation.where.rpartition(": ")[2]
    return (
        f"{this} {BUFFERS[spot.buffer]} unit {spot.chunk} of GPU {spot.gpu} while "
        f"{operation.kind} ({where}) {that} it: a data race, as neither waits for the other"
    )


def _lines(order: Order, collective: str, in_place: bool, root: int | None) -> tuple[str, ...]:
    moved = [one for event in order.events if (one := _far(event.gpu, event.operation.writes))]
    signals = sum(map(len, order.signals.values()))
    promise = conditions.COLLECTIVES[collective].format(root=root)
    how = "in place" if in_place else "out of place"
    result = f"result: {promise}, called {how}"
    if not promise:
        result = "result: not proven, as custom promises nothing; --collective names one to prove"
    return (
        f"signals: all {signals} waits have theirs; {sum(moved)} puts",
        f"deadlock: none; the longest chain has {order.depth()} of {len(order.events)} operations",
        "memory: no operation leaves its buffers or reads what nothing has written",
        "races: none; every order of the operations gives the same data",
        result,
    )


def _far(gpu: int, spans: tuple[Span, ...]) -> int:
    return sum(span.gpu != gpu for span in spans)


__all__ = ["Access", "Proof", "find_race", "prove", "units"]
