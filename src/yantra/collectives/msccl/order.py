"""What must happen before what in a program: its steps as a graph, and one order that keeps it."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple, NoReturn

from yantra.base.errors import ConfigError
from yantra.collectives.msccl.program import KINDS, RECEIVES, SENDS, Program, Step, ThreadBlock
from yantra.collectives.waiting import cycle_in, ordered

_LONGEST_CYCLE = 8


class Event(NamedTuple):
    """A step and where it runs; `lane` counts the program's thread blocks from 0."""

    gpu: int
    block: ThreadBlock
    step: Step
    lane: int

    def __str__(self) -> str:
        kind = f"{self.step.kind} ({KINDS[self.step.kind]})"
        return (
            f"step {self.step.number} of thread block {self.block.id} of GPU {self.gpu}, "
            f"{kind}, line {self.step.line}"
        )


class Order:
    """The events of a program, indexed as in the file.

    `before[e]`: what e waits for. `sender[e]`: a receive's send. `sent[e]`, `received[e]`: the
    message's number in its connection, from 0. `sequence`: a valid order.
    """

    def __init__(self, program: Program) -> None:
        self.where = program.where
        self.events: list[Event] = []
        self.before: list[list[int]] = []
        self.sender: dict[int, int] = {}
        self.sent: dict[int, int] = {}
        self.received: dict[int, int] = {}
        self.connections: dict[tuple[int, int, int], tuple[list[int], list[int]]] = defaultdict(
            lambda: ([], [])
        )
        self.lanes = 0
        for gpu in program.gpus:
            self._add_gpu(gpu.id, gpu.blocks)
        for ends, (sends, receives) in self.connections.items():
            self._match(ends, sends, receives)
        self.sequence = self._sequence()

    def depth(self) -> int:
        length = [0] * len(self.events)
        for event in self.sequence:
            length[event] = 1 + max((length[b] for b in self.before[event]), default=0)
        return max(length, default=0)

    def fail(self, event: int, problem: str) -> NoReturn:
        """Raise a ConfigError at the line of an event."""
        at = self.events[event]
        raise ConfigError(
            f"{self.where}:{at.step.line}",
            f"GPU {at.gpu}, thread block {at.block.id}, step {at.step.number} "
            f"({at.step.kind}): {problem}",
        )

    def _add_gpu(self, gpu: int, blocks: tuple[ThreadBlock, ...]) -> None:
        first: dict[int, int] = {}
        begin = len(self.events)
        for block in blocks:
            first[block.id] = len(self.events)
            for step in block.steps:
                event = len(self.events)
                self.events.append(Event(gpu, block, step, self.lanes))
                self.before.append([event - 1] if step.number else [])
                self._connect(event)
            self.lanes += 1
        for event in range(begin, len(self.events)):
            needs = self.events[event].step.dependency
            if needs is not None:
                self.before[event].append(first[needs.block] + needs.step)

    def _connect(self, event: int) -> None:
        gpu, block, step, _ = self.events[event]
        if step.kind in SENDS and block.send is not None:
            sends = self.connections[gpu, block.send, block.channel][0]
            self.sent[event] = len(sends)
            sends.append(event)
        if step.kind in RECEIVES and block.receive is not None:
            receives = self.connections[block.receive, gpu, block.channel][1]
            self.received[event] = len(receives)
            receives.append(event)

    def _match(self, ends: tuple[int, int, int], sends: list[int], receives: list[int]) -> None:
        source, destination, channel = ends
        if len(sends) != len(receives):
            odd = (sends if len(sends) > len(receives) else receives)[
                min(len(sends), len(receives))
            ]
            self.fail(
                odd,
                f"GPU {source} sends {len(sends)} and GPU {destination} receives {len(receives)} "
                f"of the messages between them on channel {channel}; this has no partner",
            )
        for send, receive in zip(sends, receives, strict=True):
            count, expected = self.events[send].step.chunks, self.events[receive].step.chunks
            if count != expected:
                self.fail(
                    receive,
                    f"the number of chunks is {expected}, but {count} of the message's sender, "
                    f"{self.events[send]}",
                )
            self.sender[receive] = send
            self.before[receive].append(send)

    def _sequence(self) -> list[int]:
        sequence, stuck = ordered(self.before)
        if stuck:
            self._explain(stuck)
        return sequence

    def _explain(self, stuck: set[int]) -> NoReturn:
        cycle = cycle_in(self.before, stuck)
        shown = [str(self.events[event]) for event in cycle[:_LONGEST_CYCLE]]
        if len(cycle) > _LONGEST_CYCLE:
            shown.append(f"{len(cycle) - _LONGEST_CYCLE} more")
        waits = "; waits for ".join([*shown, "the first of these"])
        self.fail(cycle[0], f"deadlock, {len(stuck)} steps never run: {waits}")
