"""What must happen before what in a plan: its operations as a graph, and one valid order."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple, NoReturn

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.text import count
from yantra.collectives.msccl.memory import MOST_CHUNKS
from yantra.collectives.mscclpp.plan import (
    PACKETS_KEPT,
    PACKETS_READ,
    PACKETS_SENT,
    SIGNALS,
    SUMS,
    WAITS,
    Channel,
    Operation,
    Plan,
    Span,
)
from yantra.collectives.waiting import cycle_in, ordered

_MOST_EVENTS = 1 << 20
Unit = tuple[int, str, int]
"""A GPU, a buffer and the number of a unit in it."""


class Event(NamedTuple):
    """An operation and where it runs; `lane` counts the plan's thread blocks from 0."""

    gpu: int
    lane: int
    place: int
    operation: Operation


class Order:
    """`before[e]`: what e waits for. `puts[e]`: those whose packets e reads. `signals[e]`: a wait's
    (event, place in its channels). `sequence`: a valid order.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.events: list[Event] = []
        self.before: list[list[int]] = []
        self.puts: dict[int, list[int]] = {}
        self.signals: dict[int, list[tuple[int, int]]] = {}
        self.lanes = 0
        self._check_length()
        for gpu in plan.gpus:
            for block in gpu.blocks:
                self._add(gpu.id, block)
        self._match_signals()
        self._match_semaphores()
        self._match_barriers()
        self._match_packets()
        self.sequence = self._sequence()

    def fail(self, event: int, problem: str) -> NoReturn:
        """Raise a ConfigError at an operation."""
        operation = self.events[event].operation
        raise ConfigError(operation.where, f"{operation.kind}: {problem}")

    def depth(self) -> int:
        length = [0] * len(self.events)
        for event in self.sequence:
            length[event] = 1 + max((length[b] for b in self.before[event]), default=0)
        return max(length, default=0)

    def _check_length(self) -> None:
        blocks = [block for gpu in self.plan.gpus for block in gpu.blocks]
        if sum(map(len, blocks)) > _MOST_EVENTS:
            raise UnsupportedError(f"{self.plan.where}: more than {_MOST_EVENTS} operations")
        moved = sum(
            span.size for block in blocks for one in block for span in (*one.reads, *one.writes)
        )
        if moved > MOST_CHUNKS:
            problem = f"the operations move {moved} units; a proof plays each, and at most"
            raise ConfigError(self.plan.where, f"{problem} {MOST_CHUNKS}")

    def _add(self, gpu: int, block: tuple[Operation, ...]) -> None:
        for place, operation in enumerate(block):
            self.before.append([len(self.events) - 1] if place else [])
            self.events.append(Event(gpu, self.lanes, place, operation))
        self.lanes += 1

    def _match_signals(self) -> None:
        sent: dict[Channel, list[tuple[int, int]]] = defaultdict(list)
        awaited: dict[Channel, list[tuple[int, int]]] = defaultdict(list)
        for number, event in enumerate(self.events):
            for at, channel in enumerate(event.operation.channels):
                if event.operation.kind in SIGNALS:
                    sent[channel].append((number, at))
                elif event.operation.kind in WAITS:
                    awaited[channel.other].append((number, at))
        for channel, waits in awaited.items():
            for wait, signals in self._paired(sent[channel], waits, 0, "signal of its channel"):
                self.signals.setdefault(wait, []).extend(signals)
                self.before[wait] += [event for event, _ in signals]

    def _match_semaphores(self) -> None:
        releases: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        acquires: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        for number, event in enumerate(self.events):
            kind = event.operation.kind
            for at, semaphore in enumerate(event.operation.numbers):
                if kind == "sem_release":
                    releases[event.gpu, semaphore].append((number, at))
                elif kind == "sem_acquire":
                    acquires[event.gpu, semaphore].append((number, at))
        for (gpu, semaphore), waits in acquires.items():
            free = self.plan.gpus[gpu].semaphores[semaphore]
            given = releases[gpu, semaphore]
            for wait, found in self._paired(given, waits, free, "release"):
                self.before[wait] += [event for event, _ in found]

    def _paired(
        self, given: list[tuple[int, int]], waits: list[tuple[int, int]], free: int, what: str
    ) -> list[tuple[int, list[tuple[int, int]]]]:
        if len(waits) > len(given) + free:
            self.fail(waits[len(given) + free][0], f"waits for a {what} that nobody gives")
        waits = waits[free:]
        lanes = {self.events[event].lane for event, _ in given}
        takers = {self.events[event].lane for event, _ in waits}
        if len(lanes) <= 1 and len(takers) <= 1:
            return [(wait, [one]) for (wait, _), one in zip(waits, given, strict=False)]
        if len(takers) <= 1 and len(waits) == len(given) and self._follow(waits):
            return [(wait, given) for wait, _ in waits]
        if len(waits) == len(given) == 1:
            return [(waits[0][0], given)]
        if not waits:
            return []
        blocks = f"{count(len(lanes), 'thread block')} for {len(takers)}"
        where = self.events[waits[0][0]].operation.where
        problem = f"which {what} of {blocks} it waits for is not in the plan"
        raise UnsupportedError(f"{where}: {problem}")

    def _follow(self, waits: list[tuple[int, int]]) -> bool:
        idle = {"nop", "sem_acquire", "flush", *WAITS}
        first, last = waits[0][0], waits[-1][0]
        return all(self.events[at].operation.kind in idle for at in range(first, last + 1))

    def _match_barriers(self) -> None:
        seen: dict[tuple[int, int, int], int] = defaultdict(int)  # by thread block
        meetings: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for number, event in enumerate(self.events):
            if event.operation.kind == "barrier":
                (barrier,) = event.operation.numbers
                place = seen[event.gpu, event.lane, barrier]
                seen[event.gpu, event.lane, barrier] += 1
                meetings[event.gpu, barrier, place].append(number)
        for members in meetings.values():
            wanted = self.events[members[0]].operation.blocks
            if len(members) != wanted:
                self.fail(members[0], f"{wanted} thread blocks meet, and {len(members)} come")
            earlier = [at - 1 for at in members if self.events[at].place]
            for number in members:
                self.before[number] = sorted({*self.before[number], *earlier})

    def _match_packets(self) -> None:
        written: dict[Unit, list[int]] = defaultdict(list)
        for number, event in enumerate(self.events):
            for span in packets_written(event):
                for unit in units(span):
                    written[unit].append(number)
        for number, event in enumerate(self.events):
            if event.operation.kind not in PACKETS_READ:
                continue
            found: dict[int, None] = {}
            for span in packets_read(event.operation):
                for unit in units(span):
                    writers = written.get(unit, [])
                    if len(writers) != 1:
                        what = "nobody puts" if not writers else f"{len(writers)} operations put"
                        self.fail(number, f"reads packets that {what} into scratch unit {unit[2]}")
                    found[writers[0]] = None
            self.puts[number] = list(found)
            self.before[number] += found

    def _sequence(self) -> list[int]:
        sequence, stuck = ordered(self.before)
        if stuck:
            self._explain(stuck)
        return sequence

    def _explain(self, stuck: set[int]) -> NoReturn:
        cycle = cycle_in(self.before, stuck)
        others = [self.events[one].operation for one in cycle[1:4]]
        told = ", ".join(f"{one.kind} ({one.where.rpartition(': ')[2]})" for one in others)
        self.fail(cycle[0], f"waits for itself, through {told or 'itself'}")


def units(span: Span) -> list[Unit]:
    """The units of a span."""
    return [(span.gpu, span.buffer, span.first + at) for at in range(span.size)]


def packets_read(operation: Operation) -> tuple[Span, ...]:
    own = operation.reads[1:] if operation.kind in SUMS else operation.reads
    return tuple(span for span in own if span.buffer == "s")


def packets_written(event: Event) -> list[Span]:
    kind = event.operation.kind
    sent, kept = kind in PACKETS_SENT, kind in PACKETS_KEPT
    local = [span for span in event.operation.writes if span.gpu == event.gpu]
    keeps = local[1:] if kind in SUMS else local
    far = [span for span in event.operation.writes if span.gpu != event.gpu]
    return [*(far if sent else []), *(keeps if kept else [])]
