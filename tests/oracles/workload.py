"""The workload layer, slow and plain: which node of which rank starts when, and when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["compute", "send", "recv", "memory", "skip"]
Action = Callable[[], None]


class Step(NamedTuple):
    """One node; `parents` are ids of the same rank."""

    id: int
    kind: Kind
    parents: frozenset[int]
    ticks: int = 0  # of a computation or a memory access
    cpu: bool = False
    peer: int = 0
    tag: int = 0
    size: int = 0
    priority: int = 0


@dataclass(frozen=True)
class Rules:
    """`slot` names the resource of a kind of node (none: unlimited), `capacity` how many at once.
    `wire` and `leaving` are the ticks of a message and of its way out.
    """

    slot: dict[str, str]
    capacity: dict[str, int]
    wire: Callable[[int, int, int], int]
    leaving: Callable[[int], int]
    send_ends_on_arrival: bool
    skips_wake: bool


@dataclass
class Rank:
    steps: dict[int, Step]
    started: dict[int, int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    held_back: set[int] = field(default_factory=set)  # freed by a skip that wakes nobody
    local: dict[int, list[Action]] = field(default_factory=dict)
    finished_at: int | None = None

    def running(self) -> list[Step]:
        return [self.steps[id] for id in self.started if id not in self.ended]

    def ready(self) -> list[Step]:
        return [
            self.steps[id]
            for id in sorted(self.steps, key=lambda id: (-self.steps[id].priority, id))
            if id not in self.started
            and id not in self.held_back
            and self.steps[id].parents <= self.ended.keys()
        ]


class Workload:
    def __init__(self, ranks: list[list[Step]], rules: Rules) -> None:
        self.ranks = [Rank({step.id: step for step in steps}) for steps in ranks]
        self.rules = rules
        self.now = 0
        self.events: list[tuple[int, int, Action]] = []
        self.scheduled = 0
        self.sent: dict[tuple[int, int, int, int], list[bool]] = {}
        self.posted: dict[tuple[int, int, int, int], list[tuple[int, int]]] = {}

    def run(self) -> None:
        for rank in range(len(self.ranks)):
            self.issue(rank)
            self.check_finished(rank)
        while self.events:
            self.events.sort(key=lambda event: event[:2])
            self.now, _, action = self.events.pop(0)
            action()

    def after(self, ticks: int, action: Action) -> None:
        self.scheduled += 1
        self.events.append((self.now + ticks, self.scheduled, action))

    def after_here(self, at: int, ticks: int, action: Action) -> None:
        batches, tick = self.ranks[at].local, self.now + ticks
        if tick in batches:
            batches[tick].append(action)
            return
        batches[tick] = [action]

        def play() -> None:
            for one in batches[tick]:  # it may grow meanwhile
                one()
            del batches[tick]

        self.after(ticks, play)

    def slot_of(self, step: Step) -> str | None:
        if step.cpu:
            return "cpu"
        if step.kind == "skip" and self.rules.skips_wake:
            return None
        return self.rules.slot.get(step.kind)

    def open(self, rank: Rank, step: Step) -> bool:
        slot = self.slot_of(step)
        if slot is None:
            return True
        taken = sum(self.slot_of(other) == slot for other in rank.running())
        return taken < self.rules.capacity[slot]

    def issue(self, at: int) -> None:
        rank = self.ranks[at]
        while True:
            step = next((step for step in rank.ready() if self.open(rank, step)), None)
            if step is not None:
                self.start(at, step)
            elif rank.held_back and not rank.running():
                rank.held_back.clear()  # nobody else will ever wake them
            else:
                break
        rank.held_back.clear()

    def start(self, at: int, step: Step) -> None:
        rank = self.ranks[at]
        rank.started[step.id] = self.now
        if step.kind == "skip":
            before = {other.id for other in rank.ready()}
            rank.ended[step.id] = self.now
            if not self.rules.skips_wake:
                rank.held_back |= {other.id for other in rank.ready()} - before
        elif step.kind in ("compute", "memory"):
            self.after_here(at, step.ticks, lambda: self.end(at, step.id))
        elif step.kind == "send":
            self.send(at, step)
        else:
            self.receive(at, step)

    def end(self, at: int, id: int) -> None:
        self.ranks[at].ended[id] = self.now
        self.issue(at)
        self.check_finished(at)

    def check_finished(self, at: int) -> None:
        rank = self.ranks[at]
        if rank.finished_at is None and not rank.running() and not rank.ready():
            rank.finished_at = self.now

    def send(self, at: int, step: Step) -> None:
        key = (at, step.peer, step.tag, step.size)
        arrivals = self.sent.setdefault(key, [])
        turn = len(arrivals)
        arrivals.append(False)
        if not self.rules.send_ends_on_arrival:
            self.after(self.rules.leaving(step.size), lambda: self.end(at, step.id))

        def arrive() -> None:
            arrivals[turn] = True
            is_posted = len(self.posted.get(key, [])) > turn
            if self.rules.send_ends_on_arrival:
                self.end(at, step.id)
            if is_posted:
                self.end(*self.posted[key][turn])

        self.after(self.rules.wire(at, step.peer, step.size), arrive)

    def receive(self, at: int, step: Step) -> None:
        key = (step.peer, at, step.tag, step.size)
        waiting = self.posted.setdefault(key, [])
        turn = len(waiting)
        waiting.append((at, step.id))
        if turn < len(self.sent.get(key, [])) and self.sent[key][turn]:
            self.after(0, lambda: self.end(at, step.id))
