"""A lowered schedule computes its collective whatever the network does to its messages."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import machines, payload
from tests.oracles.payload import Values
from tests.oracles.wire import Key, World
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.lower import lower
from yantra.collectives.program import ExchangeProgram, GraphProgram, Op
from yantra.collectives.schedule import Kind, Move, Round, Schedule

SCHEDULES = [
    pytest.param(find(name).schedule(kind, n), id=f"{name}-{kind}-{n}")
    for name in algorithms.names()
    if not find(name).in_network  # over switches: tests of their own
    for kind in sorted(find(name).kinds)
    for n in (2, 3, 4, 7, 8)
    if find(name).supports(kind, n) is None
]
PACES = pytest.mark.parametrize("lockstep", [True, False], ids=["lockstep", "dataflow"])


class Carrier(machines.Graph):
    def __init__(
        self,
        world: World,
        program: GraphProgram,
        position: int,
        schedule: Schedule,
        values: Values,
        letters: dict[tuple[Key, int], list[int | None]],
    ) -> None:
        super().__init__(world, program, position, data=schedule.parts)
        self.here, self.letters, self.barrier = (
            values[position],
            letters,
            schedule.kind == "barrier",
        )
        moves = [move for round_ in schedule.rounds for move in schedule.moves(round_)]
        leaving = [move for move in moves if move.src == position]
        coming = [move for move in moves if move.dst == position]
        self.move_of: dict[int, Move] = {}
        for kind, side, of_kind in (("send", "z", leaving), ("local", "nz", coming)):
            indices = [i for i, op in enumerate(self.ops) if (op.kind, op.side) == (kind, side)]
            self.move_of |= dict(zip(indices, of_kind, strict=True))
        self.letter_of: dict[int, tuple[Key, int]] = {}

    def begin(self, index: int) -> None:
        op = self.ops[index]
        size = self.size(op.num, op.den)
        if op.kind == "send":
            key = (self.position, op.peer, size)
            turn = self.world._sends[key]
            self.letters[key, turn] = [self.here[block] for block in self.move_of[index].blocks]
        elif op.kind == "recv":
            key = (op.peer, self.position, size)
            self.letter_of[index] = (key, self.world._receives[key])
        super().begin(index)

    def finish(self, index: int) -> None:
        op = self.ops[index]
        if index in self.move_of and op.kind == "local":
            (received,) = [dep for dep in op.deps if self.ops[dep].kind == "recv"]
            move = self.move_of[index]
            for block, content in zip(
                move.blocks, self.letters[self.letter_of[received]], strict=True
            ):
                assert content is not None
                self.here[block] = self.joined(move, self.here[block], content)
        super().finish(index)

    def joined(self, move: Move, here: int | None, content: int) -> int:
        if not move.reduce:
            return content
        assert here is not None
        return here | content if self.barrier else here + content


def carried(schedule: Schedule, luck: random.Random) -> Values:
    """Run a lowered schedule on a network of random delays; return what the positions hold."""
    program = lower(schedule)
    world = World(delay=lambda _: luck.randrange(1, 1000), reduction=lambda _: luck.randrange(1000))
    values = payload.at_first(schedule)
    letters: dict[tuple[Key, int], list[int | None]] = {}
    positions = [
        Carrier(world, program, position, schedule, values, letters)
        for position in range(schedule.n)
    ]
    for position in positions:
        position.start()
    world.run()
    assert all(position.finished_at is not None for position in positions)
    return values


@PACES
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_data_comes_out_right_on_any_network(schedule: Schedule, lockstep: bool) -> None:
    written_out = tuple(Round(tuple(schedule.moves(round_))) for round_ in schedule.rounds)
    schedule = schedule._replace(rounds=written_out, lockstep=lockstep)
    for seed in range(5):
        assert payload.is_performed(schedule, carried(schedule, random.Random(seed)))


@st.composite
def any_moves(draw: st.DrawFn) -> Schedule:
    """Draw rounds of random moves; no block is written in two ways in one round."""
    n, blocks = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    rounds = []
    for _ in range(draw(st.integers(1, 6))):
        moves: list[Move] = []
        for _ in range(draw(st.integers(1, 4))):
            src, dst = draw(st.permutations(range(n)))[:2]
            carries = draw(st.sets(st.integers(0, blocks - 1), min_size=1))
            move = Move(src, dst, tuple(sorted(carries)), draw(st.booleans()))
            rivals = [m for m in moves if m.dst == dst and carries & {*m.blocks}]
            if all(move.reduce and rival.reduce for rival in rivals):
                moves.append(move)
        rounds.append(Round(tuple(moves)))
    return Schedule(Kind.ALL_REDUCE, n, blocks, tuple(rounds))


@settings(max_examples=300, deadline=None)
@given(any_moves(), st.booleans(), st.integers())
def test_any_moves_at_all_are_lowered_to_what_they_mean(
    schedule: Schedule, lockstep: bool, seed: int
) -> None:
    schedule = schedule._replace(lockstep=lockstep)
    assert carried(schedule, random.Random(seed)) == payload.at_last(schedule)


@pytest.mark.parametrize("name", ["ring", "halving_doubling"])
def test_the_plain_exchange_program_hands_over_what_the_lowered_schedule_does(name: str) -> None:
    algorithm = find(name)
    for kind in algorithm.kinds:
        for n in (2, 4, 8):
            (program,) = algorithm.programs(kind, n)
            assert isinstance(program, ExchangeProgram)
            exchanged = [
                (run.reduce_num * n // run.reduce_den, run.side, run.back)
                for run in program.runs
                for _ in range(run.count)
            ]
            lowered = lower(algorithm.schedule(kind, n))
            assert exchanged == [
                (op.reduce_num * n // op.reduce_den, op.side, op.back)
                for op in lowered.ops[0]
                if op.kind == "local"
            ]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_waiting_for_the_data_alone_is_never_slower(schedule: Schedule) -> None:
    ticks = {
        lockstep: machines.run(World(), lower(schedule._replace(lockstep=lockstep)), 840)
        for lockstep in (True, False)
    }
    for paced, free in zip(ticks[True], ticks[False], strict=True):
        assert free is not None
        assert paced is not None
        assert free <= paced


@PACES
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_writing_symmetry_out_changes_no_tick(schedule: Schedule, lockstep: bool) -> None:
    schedule = schedule._replace(lockstep=lockstep)
    written_out = tuple(Round(tuple(schedule.moves(round_))) for round_ in schedule.rounds)
    one_list = machines.run(World(), lower(schedule), 840)
    n_lists = machines.run(World(), lower(schedule._replace(rounds=written_out)), 840)
    assert one_list == n_lists


def test_a_symmetric_schedule_becomes_one_list_of_operations() -> None:
    program = lower(find("ring").schedule(Kind.ALL_REDUCE, 1000))
    assert len(program.ops) == 1
    assert len(program.ops[0]) == 1 + 3 * 2 * 999


def test_a_ring_of_two_is_lowered_as_by_hand() -> None:
    program = lower(find("ring").schedule(Kind.ALL_REDUCE, 2))
    assert program == GraphProgram(
        n=2,
        ops=(
            (
                Op("local", 0, 1, 2, 0, 1, (), "z", False),
                Op("send", 1, 1, 2, 0, 1, (0,)),
                Op("recv", 1, 1, 2, 0, 1, (0,)),
                Op("local", 0, 1, 2, 1, 2, (2,), "nz", True),
                Op("send", 1, 1, 2, 0, 1, (3,)),
                Op("recv", 1, 1, 2, 0, 1, (3,)),
                Op("local", 0, 1, 2, 0, 1, (5,), "nz", False),
            ),
        ),
        symmetry="add",
        final_num=1,
        final_den=1,
        round_up=True,
    )


def test_dataflow_does_not_overwrite_what_is_still_to_be_sent() -> None:
    """Position 1 passes block 0 on in round 1 and gets a new one in round 2."""
    schedule = Schedule(
        Kind.BROADCAST,
        3,
        1,
        (
            Round((Move(0, 1, (0,)),)),
            Round((Move(1, 2, (0,)),)),
            Round((Move(0, 1, (0,)),)),
        ),
        lockstep=False,
    )
    first, first_in, on, second, second_in = lower(schedule).ops[1]
    assert [op.kind for op in (first, first_in, on, second, second_in)] == [
        "recv",
        "local",
        "send",
        "recv",
        "local",
    ]
    assert second_in.deps == (2, 3)  # the send of the old value, and the receipt of the new one
