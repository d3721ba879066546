"""The exchange machine and the graph machine, slow and plain: they define what a Program means."""

from __future__ import annotations

from functools import partial

from tests.oracles.wire import World
from yantra.collectives.program import ExchangeProgram, GraphProgram, Op, Program, Run, scaled
from yantra.collectives.schedule import shifted


def partner(position: int, distance: int, n: int) -> int:
    if n & (n - 1) == 0 or distance == 0:
        return position ^ distance
    return position + (distance if position // distance % 2 == 0 else -distance)


class Exchange:
    def __init__(
        self, world: World, program: ExchangeProgram, position: int, data: int, direction: int = 1
    ) -> None:
        self.world, self.program, self.position, self.data = world, program, position, data
        self.direction = direction
        self.injections = [run for run in program.runs for _ in range(run.count)]
        self.injected = self.sent = self.free = self.received = 0
        self.finished_at: int | None = None

    def start(self) -> None:
        for _ in range(self.program.window):
            self.inject()

    def size(self, num: int, den: int) -> int:
        return scaled(self.data, num, den, self.program.round_up)

    def peer(self, run: Run, offset: int) -> int:
        if run.peer == "xor":
            return partner(self.position, offset, self.program.n)
        return (self.position + self.direction * offset) % self.program.n

    def inject(self) -> None:
        run = self.injections[self.injected]
        self.injected += 1
        reduced = self.size(run.reduce_num, run.reduce_den)
        self.world.hand_over(reduced, run.reduce_num > 0, self.on_handed_over)

    def on_receipt(self) -> None:
        self.received += 1
        self.inject()

    def on_handed_over(self) -> None:
        self.free += 1
        left = self.program.sends - self.sent
        tries = 1
        if self.program.barrier_at and left <= self.program.barrier_at:
            tries = self.program.window if self.passes_barrier() else 0
        for _ in range(tries):
            self.try_to_send()
        if self.sent == self.program.sends and self.free == self.program.window and tries:
            assert self.finished_at is None
            self.finished_at = self.world.now

    def passes_barrier(self) -> bool:
        others = self.program.n - 1
        if self.program.barrier_counts == "receipts":
            return self.received >= others
        return self.sent + self.free >= self.program.window + others

    def try_to_send(self) -> None:
        if self.free and self.sent < min(self.program.sends, self.injected):
            run = self.injections[self.sent]
            size = self.size(run.num, run.den)
            self.world.send(self.position, self.peer(run, run.out), size)
            self.world.receive(self.peer(run, run.into), self.position, size, self.on_receipt)
            self.sent += 1
            self.free -= 1


class Graph:
    def __init__(self, world: World, program: GraphProgram, position: int, data: int) -> None:
        self.world, self.program, self.position, self.data = world, program, position, data
        self.ops = program.ops[0 if program.symmetry != "none" else position]
        self.waits = [len(op.deps) for op in self.ops]
        self.left = len(self.ops)
        self.finished_at: int | None = None if self.ops else 0

    def start(self) -> None:
        for index in [index for index, op in enumerate(self.ops) if not op.deps]:
            self.begin(index)

    def size(self, num: int, den: int) -> int:
        return scaled(self.data, num, den, self.program.round_up)

    def begin(self, index: int) -> None:
        op: Op = self.ops[index]
        peer = shifted(op.peer, self.position, self.program.n, self.program.symmetry)
        size = self.size(op.num, op.den)
        done = partial(self.finish, index)
        if op.kind == "send":
            self.world.send(self.position, peer, size)
            done()
        elif op.kind == "recv":
            self.world.receive(peer, self.position, size, done)
        else:
            reduced = self.size(op.reduce_num, op.reduce_den)
            self.world.hand_over(reduced, op.reduce_num > 0, done)

    def finish(self, index: int) -> None:
        self.left -= 1
        if self.left == 0:
            self.finished_at = self.world.now
        for child, op in enumerate(self.ops):
            if index in op.deps:
                self.waits[child] -= 1
                if self.waits[child] == 0:
                    self.begin(child)


def run(world: World, program: Program, data: int, direction: int = 1) -> list[int | None]:
    members: list[Exchange | Graph] = [
        Exchange(world, program, position, data, direction)
        if isinstance(program, ExchangeProgram)
        else Graph(world, program, position, data)
        for position in range(program.n)
    ]
    for member in members:
        member.start()
    world.run()
    return [member.finished_at for member in members]
