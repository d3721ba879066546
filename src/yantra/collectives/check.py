"""Proof that a schedule performs its collective, by playing it over the sets of positions whose
data is summed in each block.

Trade-off: everything is written out, so only up to a few hundred positions.
"""

from __future__ import annotations

from collections.abc import Iterator

from yantra.collectives.schedule import Kind, Move, Round, Schedule

_SUMS = (Kind.ALL_REDUCE, Kind.REDUCE_SCATTER, Kind.REDUCE, Kind.BARRIER)
_AT_POSITION_0 = (Kind.REDUCE, Kind.GATHER)
_TO_OWNERS = (Kind.REDUCE_SCATTER, Kind.SCATTER, Kind.ALL_TO_ALL)
_OWNED = (Kind.REDUCE_SCATTER, Kind.ALL_GATHER, Kind.GATHER, Kind.SCATTER)

_Held = list[list[int]]  # [position][block] -> set of positions, as bits


def find_violation(schedule: Schedule) -> str | None:
    """What is wrong with a schedule first, in words, or None when it is proven."""
    wrong = next(_malformed(schedule), None)
    if wrong:
        return wrong
    held = [
        [_at_first(schedule, position, block) for block in range(schedule.blocks)]
        for position in range(schedule.members)
    ]
    for number, round_ in enumerate(schedule.rounds):
        wrong = _play(schedule, round_, held)
        if wrong:
            return f"round {number}: {wrong}"
    return next(_unmet(schedule, held), None)


def _at_first(schedule: Schedule, position: int, block: int) -> int:
    if position >= schedule.n:
        return 0
    if schedule.kind in _SUMS:
        return 1 << position
    source = _source(schedule, block)
    return 1 << source if source == position else 0


def _at_last(schedule: Schedule, position: int, block: int) -> int:
    if schedule.kind in _AT_POSITION_0 and position != 0:
        return 0
    if schedule.kind in _TO_OWNERS and schedule.owners(block)[1] != position:
        return 0
    return (1 << schedule.n) - 1 if schedule.kind in _SUMS else 1 << _source(schedule, block)


def _source(schedule: Schedule, block: int) -> int:
    if schedule.kind in (Kind.BROADCAST, Kind.SCATTER):
        return 0
    return schedule.owners(block)[0]


def _malformed(schedule: Schedule) -> Iterator[str]:
    n, blocks = schedule.n, schedule.blocks
    needs = n * n if schedule.kind is Kind.ALL_TO_ALL else n if schedule.kind in _OWNED else 1
    if blocks < 1 or blocks % needs:
        yield f"{schedule.kind} over {n} positions needs a multiple of {needs} blocks, got {blocks}"
    if schedule.kind is Kind.BARRIER and blocks != 1:
        yield f"a barrier has one block, got {blocks}"
    for number, round_ in enumerate(schedule.rounds):
        if round_.symmetry == "xor" and n & (n - 1):
            yield f"round {number}: symmetry xor needs a power of two positions, got {n}"
        for move in round_.moves:
            wrong = _malformed_move(schedule, round_, move)
            if wrong:
                yield f"round {number}: {wrong}"
    yield from _malformed_switches(schedule)


def _malformed_switches(schedule: Schedule) -> Iterator[str]:
    if not schedule.switches:
        return
    if len(set(schedule.switches)) < len(schedule.switches):
        yield f"a switch is listed twice in {', '.join(schedule.switches)}"
    if any(round_.symmetry != "none" for round_ in schedule.rounds):
        yield "a round is symmetric, but switches take part, which have no symmetry"
    reached = {move.dst for round_ in schedule.rounds for move in round_.moves}
    for position in range(schedule.n, schedule.members):
        if position not in reached:
            yield f"nobody sends to {schedule.called(position)}"


def _malformed_move(schedule: Schedule, round_: Round, move: Move) -> str | None:
    what = f"the move from {schedule.called(move.src)} to {schedule.called(move.dst)}"
    if not (0 <= move.src < schedule.members and 0 <= move.dst < schedule.members):
        return f"{what} leaves the positions 0..{schedule.members - 1}"
    if move.src == move.dst:
        return f"{what} goes nowhere"
    if round_.symmetry != "none" and move.src != 0:
        return f"{what} is in a symmetric round, whose moves start at position 0"
    if not move.blocks:
        return f"{what} carries no block"
    if min(move.blocks) < 0 or max(move.blocks) >= schedule.blocks:
        return f"{what} carries a block outside 0..{schedule.blocks - 1}"
    if len(set(move.blocks)) != len(move.blocks):
        return f"{what} carries a block twice"
    return None


def _play(schedule: Schedule, round_: Round, held: _Held) -> str | None:
    moves = list(schedule.moves(round_))
    carried = [[held[move.src][block] for block in move.blocks] for move in moves]
    written: dict[tuple[int, int], bool] = {}
    for move, contents in zip(moves, carried, strict=True):
        for block, content in zip(move.blocks, contents, strict=True):
            wrong = _write(schedule, held, written, move, block, content)
            if wrong:
                return wrong
    return None


def _write(
    schedule: Schedule,
    held: _Held,
    written: dict[tuple[int, int], bool],
    move: Move,
    block: int,
    content: int,
) -> str | None:
    here = held[move.dst]
    to = schedule.called(move.dst)
    what = f"{schedule.called(move.src)} sends block {block} to {to}"
    if not content:
        return f"{what} but does not hold it"
    if (move.dst, block) in written and not (move.reduce and written[move.dst, block]):
        return f"{what} while another move of the round writes it too"
    written[move.dst, block] = move.reduce
    if move.reduce and not here[block] and move.dst < schedule.n:
        return f"{what} to be added, but {to} has nothing to add it to"
    twice = here[block] & content if move.reduce and schedule.kind is not Kind.BARRIER else 0
    if twice:
        return f"{what}, adding {_names(twice)} a second time"
    here[block] = here[block] | content if move.reduce else content
    return None


def _unmet(schedule: Schedule, held: _Held) -> Iterator[str]:
    for position in range(schedule.n):
        for block in range(schedule.blocks):
            wanted = _at_last(schedule, position, block)
            has = held[position][block]
            if wanted and not has:
                yield f"at the end position {position} lacks block {block}"
            elif wanted & ~has:
                missing = _names(wanted & ~has)
                yield f"at the end block {block} at position {position} lacks {missing}"


def _names(positions: int) -> str:
    names = [str(p) for p in range(positions.bit_length()) if positions >> p & 1]
    return f"the part of position{'s' if len(names) > 1 else ''} {', '.join(names)}"
