"""From a schedule to the graph machine's program: what a position waits for before each message.

Every received block is one hand-over, charged a reduction if added. In lockstep, a round starts
when all received earlier is handed over. Otherwise a message waits for its data, and for earlier
ones to its peer, `in_turn` for all.

A switch's host is the rank whose data reaches it first; its operations begin with the host's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from yantra.collectives.program import GraphProgram, Op
from yantra.collectives.schedule import Move, Schedule, Symmetry, final_fraction

if TYPE_CHECKING:
    from collections.abc import Sequence


def lower(schedule: Schedule) -> GraphProgram:
    symmetry = _common_symmetry(schedule)
    count = schedule.members if symmetry == "none" else 1
    pace = _Lockstep if schedule.lockstep else _InTurn if schedule.in_turn else _Dataflow
    writers = [pace(schedule.parts) for _ in range(count)]
    for round_ in schedule.rounds:
        moves = round_.moves if symmetry != "none" else tuple(schedule.moves(round_))
        leaving: list[list[Move]] = [[] for _ in range(count)]
        coming: list[list[Move]] = [[] for _ in range(count)]
        for move in moves:
            leaving[move.src].append(move)
            arriving = _to_position_0(schedule, move, symmetry) if symmetry != "none" else move
            coming[arriving.dst].append(arriving)
        for writer, sends, receives in zip(writers, leaving, coming, strict=True):
            writer.play_round(sends, receives)
    num, den = final_fraction(schedule.kind, schedule.n)
    ops = tuple(_mark_back(writer.ops) for writer in writers)
    hosts = _hosts(schedule)
    return GraphProgram(schedule.n, ops, symmetry, num, den, True, schedule.switches, hosts)


def lower_counts(counts: Sequence[Sequence[int]], whole: int) -> GraphProgram:
    ops = tuple(_exchange(counts, position, whole) for position in range(len(counts)))
    return GraphProgram(len(counts), ops, "none", 1, 1, True)


def _exchange(counts: Sequence[Sequence[int]], position: int, whole: int) -> tuple[Op, ...]:
    others = [(position + away) % len(counts) for away in range(1, len(counts))]
    sent = [(to, counts[position][to]) for to in others if counts[position][to]]
    got = [(by, counts[by][position]) for by in reversed(others) if counts[by][position]]
    ops = [Op("local", 0, sum(count for _, count in sent), whole, 0, 1, ())] if sent else []
    first = (0,) if sent else ()
    ops += [Op("send", to, count, whole, 0, 1, first) for to, count in sent]
    arrivals = range(len(ops), len(ops) + len(got))
    ops += [Op("recv", by, count, whole, 0, 1, first) for by, count in got]
    ops += [
        Op("local", 0, count, whole, 0, 1, (at,), "nz")
        for at, (_, count) in zip(arrivals, got, strict=True)
    ]
    return tuple(ops)


def _hosts(schedule: Schedule) -> tuple[int, ...]:
    hosts = {position: position for position in range(schedule.n)} if schedule.switches else {}
    for round_ in schedule.rounds if schedule.switches else ():
        for move in round_.moves:
            hosts.setdefault(move.dst, hosts[move.src])
    return tuple(hosts[position] for position in range(schedule.n, schedule.members))


def _common_symmetry(schedule: Schedule) -> Symmetry:
    kinds = {round_.symmetry for round_ in schedule.rounds}
    return kinds.pop() if len(kinds) == 1 else "none"


def _to_position_0(schedule: Schedule, move: Move, symmetry: Symmetry) -> Move:
    by = move.dst if symmetry == "xor" else -move.dst % schedule.n
    return schedule.moved(move, by, symmetry)


def _mark_back(ops: list[Op]) -> tuple[Op, ...]:
    sent_on = {dep for op in ops if op.kind == "send" for dep in op.deps}
    return tuple(
        op._replace(back=True) if op.side == "nz" and index in sent_on else op
        for index, op in enumerate(ops)
    )


class _Writer:
    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.ops: list[Op] = []

    def append(self, op: Op) -> int:
        self.ops.append(op)
        return len(self.ops) - 1

    def hand_over_own(self, move: Move) -> int:
        return self.append(Op("local", 0, len(move.blocks), self.parts, 0, 1, ()))

    def transfer(self, kind: Literal["send", "recv"], move: Move, deps: set[int]) -> int:
        peer = move.dst if kind == "send" else move.src
        return self.append(Op(kind, peer, len(move.blocks), self.parts, 0, 1, tuple(sorted(deps))))

    def hand_over(self, move: Move, deps: set[int]) -> int:
        blocks = len(move.blocks)
        reduced = (blocks, self.parts) if move.reduce else (0, 1)
        op = Op("local", 0, blocks, self.parts, *reduced, tuple(sorted(deps)), "nz")
        return self.append(op)


class _Lockstep(_Writer):
    def __init__(self, parts: int) -> None:
        super().__init__(parts)
        self.gate: set[int] = set()  # hand-overs of the last round that received

    def play_round(self, sends: list[Move], receives: list[Move]) -> None:
        ready = [self.gate or {self.hand_over_own(move)} for move in sends]
        for move, deps in zip(sends, ready, strict=True):
            self.transfer("send", move, deps)
        posted = set().union(self.gate, *ready)
        arrivals = [self.transfer("recv", move, posted) for move in receives]
        handed = {
            self.hand_over(move, {arrival})
            for move, arrival in zip(receives, arrivals, strict=True)
        }
        self.gate = handed or self.gate


class _Block:
    def __init__(self) -> None:
        self.makers: set[int] = set()
        self.readers: set[int] = set()
        self.fence: set[int] = set()


class _Dataflow(_Writer):
    def __init__(self, parts: int) -> None:
        super().__init__(parts)
        self.blocks: dict[int, _Block] = {}
        self.last_send_to: dict[int, int] = {}

    def line_of(self, move: Move) -> int:
        return move.dst

    def play_round(self, sends: list[Move], receives: list[Move]) -> None:
        for move in sends:
            self.send(move)
        arrivals = [self.transfer("recv", move, set()) for move in receives]
        for move, arrival in zip(receives, arrivals, strict=True):
            self.write(move, arrival)

    def send(self, move: Move) -> None:
        carried = [self.blocks.setdefault(block, _Block()) for block in move.blocks]
        deps = set().union(*(block.makers for block in carried)) or {self.hand_over_own(move)}
        before = self.last_send_to.get(self.line_of(move))
        index = self.transfer("send", move, deps if before is None else deps | {before})
        self.last_send_to[self.line_of(move)] = index
        for block in carried:
            block.readers.add(index)

    def write(self, move: Move, arrival: int) -> None:
        written = [self.blocks.setdefault(block, _Block()) for block in move.blocks]
        deps = {arrival}
        for block in written:
            if block.readers:
                block.fence, block.makers, block.readers = block.readers, set(), set()
            deps |= block.fence if move.reduce else block.fence | block.makers
        index = self.hand_over(move, deps)
        for block in written:
            if move.reduce:
                block.makers.add(index)
            else:
                block.makers, block.fence = {index}, {index}


class _InTurn(_Dataflow):
    def line_of(self, move: Move) -> int:
        return 0
