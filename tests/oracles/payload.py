"""A schedule played with numbers: does every position end with the right ones?"""

from __future__ import annotations

from yantra.collectives.schedule import Kind, Schedule

Values = list[list[int | None]]  # [position][block]


def performs_its_collective(schedule: Schedule) -> bool:
    return is_performed(schedule, at_last(schedule))


def at_last(schedule: Schedule) -> Values:
    values = at_first(schedule)
    for round_ in schedule.rounds:
        before = [list(row) for row in values]
        for move in schedule.moves(round_):
            for block in move.blocks:
                content, here = before[move.src][block], values[move.dst][block]
                if content is None:
                    continue
                if not move.reduce or here is None:
                    values[move.dst][block] = content
                elif schedule.kind is Kind.BARRIER:
                    values[move.dst][block] = here | content
                else:
                    values[move.dst][block] = here + content
    return values


def is_performed(schedule: Schedule, values: Values) -> bool:
    return all(
        value is None or has == value
        for row, wants in zip(values, _promised(schedule), strict=True)
        for has, value in zip(row, wants, strict=True)
    )


def _input(position: int, block: int) -> int:
    return 1 << 5 * position + 320 * block  # sums of up to 31 of them never carry into another


def at_first(schedule: Schedule) -> Values:
    n, blocks = schedule.n, schedule.blocks
    values: Values = [[None] * blocks for _ in range(n)]
    for position in range(n):
        for block in range(blocks):
            if schedule.kind in (Kind.BROADCAST, Kind.SCATTER):
                own = position == 0
            elif schedule.kind in (Kind.ALL_GATHER, Kind.GATHER, Kind.ALL_TO_ALL):
                own = block // (blocks // n) == position
            else:
                own = True
            if own:
                values[position][block] = _input(position, block)
    return values


def _promised(schedule: Schedule) -> Values:
    n, blocks = schedule.n, schedule.blocks
    first = at_first(schedule)
    wanted: Values = [[None] * blocks for _ in range(n)]
    for block in range(blocks):
        total = sum(row[block] or 0 for row in first)  # the sum, or the one copy there is
        for position in range(n):
            if _has_a_claim(schedule, position, block):
                wanted[position][block] = total
    return wanted


def _has_a_claim(schedule: Schedule, position: int, block: int) -> bool:
    n, blocks = schedule.n, schedule.blocks
    if schedule.kind in (Kind.REDUCE, Kind.GATHER):
        return position == 0
    if schedule.kind in (Kind.REDUCE_SCATTER, Kind.SCATTER):
        return block // (blocks // n) == position
    if schedule.kind is Kind.ALL_TO_ALL:
        return block // (blocks // n**2) % n == position
    return True
