"""The checker proves right schedules and finds every fault put into them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.payload import performs_its_collective
from yantra.collectives import find
from yantra.collectives.algorithms import algorithms
from yantra.collectives.check import find_violation
from yantra.collectives.schedule import Kind, Move, Round, Schedule


def written_out(schedule: Schedule) -> Schedule:
    return schedule._replace(rounds=tuple(Round(tuple(schedule.moves(r))) for r in schedule.rounds))


# Relays of these pass on what they may have, so dropping a message may do no harm.
WITH_RELAYS = ("rail_rings",)
SCHEDULES = [
    pytest.param(written_out(find(name).schedule(kind, n)), id=f"{name}-{kind}-{n}")
    for name in algorithms.names()
    if not find(name).in_network  # over switches: tests of their own
    and name not in WITH_RELAYS
    for kind in sorted(find(name).kinds)
    for n in (2, 3, 4, 5, 8)
    if find(name).supports(kind, n) is None
]


def with_moves(schedule: Schedule, at: int, *moves: Move) -> Schedule:
    rounds = list(schedule.rounds)
    rounds[at] = Round(moves)
    return schedule._replace(rounds=tuple(rounds))


def each_move(schedule: Schedule) -> Iterator[tuple[int, int, Move]]:
    for at, round_ in enumerate(schedule.rounds):
        for index, move in enumerate(round_.moves):
            yield at, index, move


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_writing_symmetric_rounds_out_changes_nothing(schedule: Schedule) -> None:
    assert find_violation(schedule) is None
    assert performs_its_collective(schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dropping_any_move_is_found(schedule: Schedule) -> None:
    for at, index, _ in each_move(schedule):
        moves = schedule.rounds[at].moves
        assert find_violation(with_moves(schedule, at, *moves[:index], *moves[index + 1 :]))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dropping_a_block_of_any_move_is_found(schedule: Schedule) -> None:
    for at, index, move in each_move(schedule):
        moves = list(schedule.rounds[at].moves)
        moves[index] = move._replace(blocks=move.blocks[:-1])
        assert find_violation(with_moves(schedule, at, *moves))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sending_a_copy_to_another_position_is_found(schedule: Schedule) -> None:
    for at, index, move in each_move(schedule):
        for other in {*range(schedule.n)} - {move.src, move.dst} if not move.reduce else ():
            moves = list(schedule.rounds[at].moves)
            moves[index] = move._replace(dst=other)
            assert find_violation(with_moves(schedule, at, *moves))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_reducing_twice_is_found_except_in_a_barrier(schedule: Schedule) -> None:
    for at, _, move in each_move(schedule):
        if move.reduce:
            rounds = list(schedule.rounds)
            rounds.insert(at + 1, Round((move,)))
            wrong = find_violation(schedule._replace(rounds=tuple(rounds)))
            assert (wrong is None) == (schedule.kind is Kind.BARRIER)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_copying_what_must_be_added_is_found_or_harmless(schedule: Schedule) -> None:
    for at, index, move in each_move(schedule):
        moves = list(schedule.rounds[at].moves)
        moves[index] = move._replace(reduce=not move.reduce)
        changed = with_moves(schedule, at, *moves)
        assert find_violation(changed) or performs_its_collective(changed)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_what_the_checker_passes_comes_out_right_in_numbers(data: st.DataObject) -> None:
    schedule = data.draw(st.sampled_from([case.values[0] for case in SCHEDULES]))
    assert isinstance(schedule, Schedule)
    for _ in range(data.draw(st.integers(1, 2))):
        at, index, move = data.draw(st.sampled_from(list(each_move(schedule))))
        position = st.integers(0, schedule.n - 1)
        changed = data.draw(
            st.sampled_from(
                [
                    move._replace(dst=data.draw(position)),
                    move._replace(src=data.draw(position)),
                    move._replace(reduce=not move.reduce),
                    move._replace(blocks=(data.draw(st.integers(0, schedule.blocks - 1)),)),
                ]
            )
        )
        moves = list(schedule.rounds[at].moves)
        moves[index] = changed
        schedule = with_moves(schedule, at, *moves)
    if find_violation(schedule) is None:
        assert performs_its_collective(schedule)


def all_reduce_of_two(*rounds: Round) -> Schedule:
    return Schedule(Kind.ALL_REDUCE, 2, 1, rounds)


SWAP = Round((Move(0, 1, (0,), reduce=True),), "add")


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        (
            all_reduce_of_two(),
            "at the end block 0 at position 0 lacks the part of position 1",
        ),
        (
            Schedule(Kind.REDUCE, 4, 1, (Round((Move(2, 0, (0,), reduce=True),)),)),
            "at the end block 0 at position 0 lacks the part of positions 1, 3",
        ),
        (
            all_reduce_of_two(SWAP, SWAP),
            "round 1: position 0 sends block 0 to position 1, adding the part of positions 0, 1 a "
            "second time",
        ),
        (
            Schedule(Kind.BROADCAST, 3, 1, (Round((Move(0, 1, (0,)),)),)),
            "at the end position 2 lacks block 0",
        ),
        (
            Schedule(Kind.ALL_GATHER, 3, 3, (Round((Move(0, 1, (2,)),)),)),
            "round 0: position 0 sends block 2 to position 1 but does not hold it",
        ),
        (
            Schedule(Kind.ALL_GATHER, 3, 3, (Round((Move(0, 1, (0,), reduce=True),)),)),
            "round 0: position 0 sends block 0 to position 1 to be added, but position 1 has "
            "nothing to add it to",
        ),
        (
            Schedule(Kind.BROADCAST, 3, 1, (Round((Move(0, 1, (0,)), Move(0, 1, (0,)))),)),
            "round 0: position 0 sends block 0 to position 1 while another move of the round "
            "writes it too",
        ),
        (
            Schedule(Kind.ALL_GATHER, 3, 4, ()),
            "all_gather over 3 positions needs a multiple of 3 blocks, got 4",
        ),
        (
            Schedule(Kind.ALL_TO_ALL, 3, 3, ()),
            "all_to_all over 3 positions needs a multiple of 9 blocks, got 3",
        ),
        (Schedule(Kind.BARRIER, 3, 3, ()), "a barrier has one block, got 3"),
        (
            Schedule(Kind.ALL_REDUCE, 3, 1, (Round((Move(0, 1, (0,)),), "xor"),)),
            "round 0: symmetry xor needs a power of two positions, got 3",
        ),
        (
            Schedule(Kind.ALL_REDUCE, 3, 1, (Round((Move(1, 2, (0,)),), "add"),)),
            "round 0: the move from position 1 to position 2 is in a symmetric round, whose "
            "moves start at position 0",
        ),
        (
            all_reduce_of_two(Round((Move(0, 2, (0,)),))),
            "round 0: the move from position 0 to position 2 leaves the positions 0..1",
        ),
        (
            all_reduce_of_two(Round((Move(1, 1, (0,)),))),
            "round 0: the move from position 1 to position 1 goes nowhere",
        ),
        (
            all_reduce_of_two(Round((Move(0, 1, (1,)),))),
            "round 0: the move from position 0 to position 1 carries a block outside 0..0",
        ),
        (
            all_reduce_of_two(Round((Move(0, 1, ()),))),
            "round 0: the move from position 0 to position 1 carries no block",
        ),
        (
            all_reduce_of_two(Round((Move(0, 1, (0, 0)),))),
            "round 0: the move from position 0 to position 1 carries a block twice",
        ),
    ],
)
def test_the_first_violation_is_told_in_words(schedule: Schedule, said: str) -> None:
    assert find_violation(schedule) == said


def test_a_large_symmetric_schedule_stays_small() -> None:
    rounds = find("ring").schedule(Kind.ALL_REDUCE, 4096).rounds
    assert sum(len(round_.moves) for round_ in rounds) == 2 * 4095
